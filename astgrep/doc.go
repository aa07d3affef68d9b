// Package astgrep finds and rewrites code by its structure.
//
// The engine is the program ast-grep: it parses and it matches, and this
// package never second-guesses it. What is added here: files that can't match
// are never handed to it (a pattern's own words must stand in a file's bytes),
// so that a selective search reads a tree instead of parsing it; results in a
// stable order within limits; an empty answer always with its reason; and
// rewrites that are previewed and then written to all files or to none.
//
// The package has no parser and no matcher of its own, and doesn't install the
// engine: the command "whet setup" does.
package astgrep
