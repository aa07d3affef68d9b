// Package search finds text and files: grep, glob, and the guard that checks
// the path given to any host's own grep and glob.
//
// It never answers with silence. When nothing is found it says what was
// looked at and what was left out, and a path that can't be searched is an
// error, never "no matches".
//
// The engines know no host: [Grep] and [Glob] are plain functions over a
// directory. It is not an index; every call reads the files as they are.
package search
