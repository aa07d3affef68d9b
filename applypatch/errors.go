package applypatch

import (
	"errors"
	"fmt"
)

// A Kind is the class of an [Error]: whose fault it is and so what to do next.
type Kind string

// The kinds, from the outside in.
const (
	Blocked      Kind = "blocked"      // a path that may not be touched
	Validation   Kind = "validation"   // the patch itself is malformed
	Verification Kind = "verification" // the patch doesn't fit the files
	Internal     Kind = "internal"     // the disk or whet failed
)

// A Code names what went wrong. The codes are stable.
type Code string

// The codes, by kind.
const (
	OutsideWorkspace Code = "outside_workspace"

	MissingBegin    Code = "missing_begin"
	MissingEnd      Code = "missing_end"
	TextOutside     Code = "text_outside"
	UnknownHeader   Code = "unknown_header"
	UnexpectedLine  Code = "unexpected_line"
	AddLinePrefix   Code = "add_line_prefix"
	EmptyUpdate     Code = "empty_update"
	EmptyPatch      Code = "empty_patch"
	BadPath         Code = "bad_path"
	EscapedNewlines Code = "escaped_newlines"
	TooLarge        Code = "too_large"

	FileMissing    Code = "file_missing"
	NotRegular     Code = "not_regular"
	Exists         Code = "exists"
	NotFound       Code = "not_found"
	Ambiguous      Code = "ambiguous"
	Conflict       Code = "conflict"
	Overlap        Code = "overlap"
	AlreadyApplied Code = "already_applied"
	FileChanged    Code = "file_changed"
	BinaryOrUTF16  Code = "binary_or_utf16"
	NoChange       Code = "no_change"

	IO                 Code = "io"
	Permission         Code = "permission"
	Busy               Code = "busy"
	RenderUnproved     Code = "render_unproved"
	RollbackIncomplete Code = "rollback_incomplete"
)

// At says where in the patch an error is. Zero fields are unknown.
type At struct {
	Path      string `json:"path,omitempty"`
	Chunk     int    `json:"chunk,omitempty"`  // 1-based, in its section
	Chunks    int    `json:"chunks,omitempty"` // how many chunks that section has
	PatchLine int    `json:"patch_line,omitempty"`
}

// A Candidate is a place in the file that a chunk could have meant.
type Candidate struct {
	Lines [2]int  `json:"lines"` // first and last, 1-based
	Score float64 `json:"score"` // 0 to 1: how much of the chunk is there
}

// Error is every error of this package that is about a patch.
type Error struct {
	Kind       Kind
	Code       Code
	Message    string // one clause: what was wrong
	At         At
	Candidates []Candidate
	Detail     string // lines for the model: the nearest place, what to do
	Err        error  // the cause, if another package's
}

func (e *Error) Unwrap() error { return e.Err }

// Error is the conflict report: at most [MaxReport] bytes.
func (e *Error) Error() string {
	s := "apply_patch: not applied (no files changed). "
	if e.Code == RollbackIncomplete {
		s = "apply_patch: failed while writing. "
	}
	if e.At.Path != "" {
		s += e.At.Path
		if e.At.Chunk > 0 {
			s += fmt.Sprintf(", chunk %d", e.At.Chunk)
			if e.At.Chunks > 0 {
				s += fmt.Sprintf(" of %d", e.At.Chunks)
			}
		}
		if e.At.PatchLine > 0 {
			s += fmt.Sprintf(" (patch line %d)", e.At.PatchLine)
		}
		s += ": "
	} else if e.At.PatchLine > 0 {
		s += fmt.Sprintf("patch line %d: ", e.At.PatchLine)
	}
	s += string(e.Code)
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Detail != "" {
		s += "\n" + e.Detail
	}
	return clip(s, MaxReport)
}

// MaxReport is the length of the longest conflict report, in bytes.
const MaxReport = 2000

// CodeOf returns err's code, "" if it isn't an [*Error].
func CodeOf(err error) Code {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func invalid(code Code, line int, format string, a ...any) *Error {
	return &Error{Kind: Validation, Code: code, Message: fmt.Sprintf(format, a...), At: At{PatchLine: line}}
}

func unverified(code Code, at At, format string, a ...any) *Error {
	return &Error{Kind: Verification, Code: code, Message: fmt.Sprintf(format, a...), At: at}
}
