package market

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/whet-dev/whet/market/convert"
	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/source"
	"github.com/whet-dev/whet/market/store"
)

// A Code is a stable word for what went wrong.
type Code string

// The codes of errors.
const (
	InvalidArguments Code = "invalid-arguments"
	NotOrchestrator  Code = "not-orchestrator"
	Denied           Code = "denied"
	NotALocalPath    Code = "not-a-local-path"
	NotFound         Code = "not-found"
	Unreadable       Code = "unreadable"
	InvalidPackage   Code = "invalid-package"
	UnsafeArchive    Code = "unsafe-archive"
	Conflict         Code = "conflict"
	Incompatible     Code = "incompatible"
	Referenced       Code = "referenced"
	Busy             Code = "busy"
	Lockfile         Code = "lockfile"
	IO               Code = "io"
	BadSignature     Code = "bad-signature"
)

// An Error is why an action was not done. Nothing of it was.
type Error struct {
	Action string `json:"-"`
	Code   Code   `json:"code"`
	Text   string `json:"text"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("marketplace %s: %s: %s", e.Action, e.Code, e.Text)
}

func errorf(code Code, format string, a ...any) error {
	return &Error{Code: code, Text: fmt.Sprintf(format, a...)}
}

// coded makes any error of an action one with a code.
func coded(action string, err error) error {
	var (
		own  *Error
		read *source.Error
		bad  *plugin.Error
		form *convert.Error
		busy *store.BusyError
	)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &own):
		return &Error{action, own.Code, own.Text}
	case errors.As(err, &read):
		code, text := sourceCode(read), read.Error()
		if string(code) == read.Code {
			text = strings.TrimPrefix(text, read.Code+": ")
		}
		return &Error{action, code, text}
	case errors.As(err, &bad):
		return &Error{action, InvalidPackage, bad.Error()}
	case errors.As(err, &form):
		text := form.Error()
		if form.Code != string(InvalidPackage) {
			text = form.Code + ": " + text
		}
		return &Error{action, InvalidPackage, text}
	case errors.As(err, &busy):
		return &Error{action, Busy, busy.Error() + "; try again when it is done"}
	case errors.Is(err, store.ErrLockfile):
		return &Error{action, Lockfile, err.Error() + "; a person can run: whet market repair"}
	}
	return &Error{action, IO, err.Error()}
}

func sourceCode(e *source.Error) Code {
	switch {
	case e.Unsafe():
		return UnsafeArchive
	case e.Code == "not-a-local-path", e.Code == "not-found", e.Code == "invalid-package":
		return Code(e.Code)
	}
	return Unreadable
}
