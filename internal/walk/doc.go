// Package walk lists the files of a tree as ripgrep would: in parallel, by the
// rules of .gitignore and its kin, and never past a link.
//
// Every directory and file is opened through [os.Root], so that a link put in
// place of a directory while the walk is under way leads nowhere either.
//
// It also has the globs that those rules are written in. It is not a general
// file system walker: it yields regular files only, in no order.
package walk
