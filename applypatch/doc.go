// Package applypatch reads patches in the apply_patch format, finds the one
// place where each chunk belongs even when the file has moved on since the
// patch was written, and applies the result to disk all or nothing.
//
// A patch is kept as the operations its author wrote: context lines, deletions
// and additions, in order. Context is evidence of where the change goes and is
// never written; additions are the author's bytes; deletions must be found in
// the file. When the evidence points at two places, or at none, the patch is
// refused with an [*Error] that shows the nearest place and the first line
// that differs. Nothing is guessed.
//
// The engine is a plain library. [Parse] reads a patch, [Resolve] turns it into
// a [Plan] against a [Workspace], [Plan.Commit] writes it, and [Plan.Render]
// prints a patch that a host's own, less tolerant applier turns into the same
// bytes, proved by [Replay]. [Commit] writes any set of files atomically.
//
// It isn't a general diff tool: it neither computes diffs of two files nor
// merges histories, and it never touches a path outside its workspace.
package applypatch
