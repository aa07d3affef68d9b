package format

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/internal/trust"
)

// callTimeout bounds what formatting may add to one call, however many files
// it changed.
const callTimeout = 20 * time.Second

// Name is what the guard is called.
const Name = "format"

// Guard formats the files that a call has changed, and tells the agent their
// new text.
func Guard(o Options) whet.Guard {
	if o.Enabled != nil && !*o.Enabled {
		return whet.Guard{Name: Name}
	}
	g := &guard{engine: &Engine{Options: o, Trusted: trust.Check}, slots: make(chan struct{}, min(2, runtime.NumCPU()))}
	return whet.Guard{Name: Name, Before: g.before, After: g.after}
}

type guard struct {
	engine *Engine
	slots  chan struct{} // formatters at once
}

// A memory is what a session keeps. Texts are in [texts], by their digest.
type memory struct {
	Before  []snapshot `json:"before,omitempty"` // of calls under way
	Shadows []shadow   `json:"shadows,omitempty"`
	Told    []string   `json:"told,omitempty"` // digests of what need not be said again
	Off     []string   `json:"off,omitempty"`  // "formatter path": not used any more
}

// A snapshot is a file's text before a call.
type snapshot struct {
	Call string `json:"call"`
	Path string `json:"path"`
	Text string `json:"text"` // "" if there was no file
}

// A shadow is a file's text as the model wrote it, and as it then was.
type shadow struct {
	Path      string `json:"path"`
	Written   string `json:"written"`
	Formatted string `json:"formatted"`
	Whole     bool   `json:"whole,omitempty"`
}

// Bounds of a memory: it is rewritten with each edit.
const (
	maxBefore  = 64
	maxShadows = 64
	maxTold    = 64
)

// last returns the newest n.
func last[T any](s []T, n int) []T { return s[max(0, len(s)-n):] }

// before keeps the text of the files that the call is about to edit.
func (g *guard) before(_ context.Context, c *whet.Call) error {
	if !editing(c.Tool) {
		return nil
	}
	var snaps []snapshot
	for from, path := range targets(c) {
		snap := snapshot{Call: c.ID, Path: path}
		if b, err := readInside(c.Session, cmp.Or(from, path)); err == nil {
			if snap.Text, err = keep(b); err != nil {
				return err
			}
		} else if !errors.Is(err, os.ErrNotExist) {
			continue // unknown is not absent
		}
		snaps = append(snaps, snap)
	}
	if snaps == nil {
		return nil
	}
	return whet.Update(c.Session, "format", func(m *memory) error {
		m.Before = last(append(m.Before, snaps...), maxBefore)
		return nil
	})
}

// Remember keeps the text that each of the files had before the call, by its
// absolute path: for a tool of ours that edits files which its arguments don't
// name. It is to be called before the files are written.
func Remember(c *whet.Call, before map[string][]byte) error {
	var snaps []snapshot
	for path, text := range before {
		if len(snaps) == maxBefore || len(text) > maxSize {
			continue
		}
		kept, err := keep(text)
		if err != nil {
			return err
		}
		snaps = append(snaps, snapshot{c.ID, path, kept})
	}
	return whet.Update(c.Session, "format", func(m *memory) error {
		m.Before = last(append(m.Before, snaps...), maxBefore)
		return nil
	})
}

// editing reports whether calls of the tool may change files.
func editing(tool string) bool {
	switch tool {
	case "edit", "multiedit", "write", "patch", "apply_patch":
		return true
	}
	return false
}

// targets lists the files that the call names: where each text comes from
// (the path itself, unless a patch moves it), and its path.
func targets(c *whet.Call) map[string]string {
	files := map[string]string{}
	if c.Path != "" {
		p := absolute(c.Session, c.Path)
		files[p] = p
		return files
	}
	for from, to := range patched(c.Args) {
		files[absolute(c.Session, from)] = absolute(c.Session, to)
	}
	return files
}

func absolute(s whet.Session, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	return filepath.Clean(path)
}

// within opens the outermost of the session's directories that holds path.
func within(s whet.Session, path string) (*os.Root, string, error) {
	for _, dir := range slices.Backward(s.Roots()) {
		if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) {
			root, err := os.OpenRoot(dir)
			return root, name, err
		}
	}
	return nil, "", errOutside
}

var errOutside = errors.New("the file is outside the project")

func readInside(s whet.Session, path string) ([]byte, error) {
	root, name, err := within(s, path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return plainfile.ReadIn(root, name, maxSize)
}

// A report is what one file's formatting came to.
type report struct {
	path    string // absolute
	name    string // as the agent knows it
	outcome Outcome
	err     error
	silent  bool // another of us did it
}

func (g *guard) after(ctx context.Context, c *whet.Call, r *whet.Result) error {
	if r.Failed || len(r.Changed) == 0 || hostFormats(c.Session) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var m memory
	err := whet.Update(c.Session, "format", func(stored *memory) error {
		m = *stored
		stored.Before = slices.DeleteFunc(slices.Clone(stored.Before), func(s snapshot) bool { return s.Call == c.ID })
		return nil
	})
	if err != nil {
		return err
	}
	reports := make([]report, len(r.Changed))
	var wg sync.WaitGroup
	for i, path := range r.Changed {
		wg.Go(func() {
			g.slots <- struct{}{}
			defer func() { <-g.slots }()
			defer func() {
				if p := recover(); p != nil { // the kernel can't catch it here
					reports[i].err = fmt.Errorf("internal error: %v\n%s", p, debug.Stack())
				}
			}()
			reports[i] = g.one(ctx, c, m, path)
		})
	}
	wg.Wait()
	return g.conclude(c, r, reports)
}

// one formats one changed file.
func (g *guard) one(ctx context.Context, c *whet.Call, m memory, path string) (rep report) {
	rep = report{path: path, name: shown(c.Session, path)}
	root, name, err := within(c.Session, path)
	if err != nil {
		rep.silent = true
		return rep
	}
	defer root.Close()
	e := Edit{Root: root, Name: name}
	var known bool
	if e.Before, e.Ours, known = m.textBefore(c, path); !known {
		if e.Before, known = g.guess(ctx, c, root, name); !known {
			rep.err = ErrSkipped
			return rep
		}
	}
	e.Off = func(formatter string) bool { return slices.Contains(m.Off, formatter+" "+path) }
	err = once(path, func(done *finished) error {
		e.Partly = !done.Whole && done.Text == digest(e.Before)
		if now, err := plainfile.ReadIn(root, name, maxSize); err == nil && done.is(now) {
			rep.silent = true
			return nil
		}
		rep.outcome, rep.err = g.engine.Format(ctx, e)
		if rep.err == nil {
			*done = finished{At: time.Now(), Text: digest(rep.outcome.Formatted), Whole: rep.outcome.Whole}
		}
		return nil
	})
	if err != nil {
		rep.err = err
	}
	return rep
}

// textBefore returns what the file held before the call, nil if it wasn't
// there, and whether that was a formatter's own work.
func (m memory) textBefore(c *whet.Call, path string) (text []byte, ours, known bool) {
	for _, s := range slices.Backward(m.Before) {
		if s.Call != c.ID || s.Path != path {
			continue
		}
		if s.Text == "" {
			return nil, false, true
		}
		text, known = texts().Get(s.Text)
		ours = slices.ContainsFunc(m.Shadows, func(x shadow) bool { return x.Whole && x.Path == path && x.Formatted == s.Text })
		return text, ours, known
	}
	return nil, false, false
}

// guess finds the text before a call of which nobody told before it ran: from
// the call's own arguments, else the last commit's. A file that was written
// as a whole has no text before it.
func (g *guard) guess(ctx context.Context, c *whet.Call, root *os.Root, name string) ([]byte, bool) {
	if c.Tool == "write" {
		return nil, true
	}
	now, err := plainfile.ReadIn(root, name, maxSize)
	if err != nil {
		return nil, false
	}
	was, is := whet.StringArg(c.Args, "old_string"), whet.StringArg(c.Args, "new_string")
	if is != "" && strings.Count(string(now), is) == 1 {
		return []byte(strings.Replace(string(now), is, was, 1)), true
	}
	return Committed(ctx, filepath.Join(root.Name(), name))
}

// conclude keeps what the session must know and tells the agent.
func (g *guard) conclude(c *whet.Call, r *whet.Result, reports []report) error {
	var notes []string
	err := whet.Update(c.Session, "format", func(m *memory) error {
		notes = m.learn(reports)
		return nil
	})
	for _, n := range notes {
		r.Note("%s", n)
	}
	return err
}

// learn takes the reports into the memory and returns what is to be said.
func (m *memory) learn(reports []report) (notes []string) {
	b := budget{lines: maxNoteLines, bytes: maxNoteBytes}
	for _, rep := range reports {
		o := rep.outcome
		switch {
		case rep.silent || errors.Is(rep.err, ErrNone) || errors.Is(rep.err, ErrSkipped) || errors.Is(rep.err, os.ErrNotExist):
		case rep.err != nil:
			if n := m.trouble(rep); n != "" {
				notes = append(notes, n)
			}
		case o.Unstable:
			m.Off = last(append(m.Off, o.Formatter+" "+rep.path), maxTold)
			notes = append(notes, fmt.Sprintf("[format] %s: %s changes its own output each time; it is left alone for the rest of this session.", rep.name, o.Formatter))
		case o.Unverified:
			notes = append(notes, fmt.Sprintf("[format] %s: %s can't format the edited lines alone; the file stays as you wrote it.", rep.name, o.Formatter))
		case o.Changed():
			written, err := keep(o.Edited)
			formatted, err2 := keep(o.Formatted)
			if err == nil && err2 == nil {
				m.Shadows = slices.DeleteFunc(m.Shadows, func(s shadow) bool { return s.Path == rep.path })
				m.Shadows = last(append(m.Shadows, shadow{rep.path, written, formatted, o.Whole}), maxShadows)
			}
			notes = append(notes, b.note(rep.name, o))
		}
	}
	return compact(notes, reports)
}

// trouble says why a file wasn't formatted: in full the first time, and no
// more than needed after that.
func (m *memory) trouble(rep report) string {
	failure := (*Failure)(nil)
	isFailure := errors.As(rep.err, &failure)
	about := rep.path
	if !isFailure {
		about = "" // once for all files
	}
	key := digest([]byte(about + "\x00" + rep.err.Error()))[:12]
	again := slices.Contains(m.Told, key)
	if !again {
		m.Told = last(append(m.Told, key), maxTold)
	}
	switch {
	case isFailure && again && !failure.TimedOut:
		return fmt.Sprintf("[format] %s: %s failed as before.", rep.name, failure.Formatter)
	case !isFailure && again && !errors.Is(rep.err, ErrRaced):
		return ""
	}
	return fmt.Sprintf("[format] %s is not formatted: %v", rep.name, rep.err)
}

// shown is the path as an agent would write it.
func shown(s whet.Session, path string) string {
	if rel, err := filepath.Rel(s.Dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

func digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16])
}

// texts keeps the texts that sessions speak of.
func texts() state.Blobs {
	root, err := state.Root()
	if err != nil {
		return "" // nothing is kept
	}
	return state.Blobs(filepath.Join(root, "format", "texts"))
}

// How long and how much texts are kept.
const (
	textsFor   = 7 * 24 * time.Hour
	textsBytes = 64 << 20
)

func keep(text []byte) (string, error) {
	t, key := texts(), digest(text)
	if t == "" {
		return "", errors.New("there is no place for state")
	}
	if strings.HasPrefix(key, "00") { // now and then
		_ = t.Prune(textsFor, textsBytes) // the next one will do
	}
	return key, t.Put(key, text)
}

// finished is the last text that a formatter made of a file, whoever asked.
type finished struct {
	At    time.Time `json:"at"`
	Text  string    `json:"text"`
	Whole bool      `json:"whole,omitempty"` // it would not change it again
}

// is reports whether text is that text, and new enough to be the same edit's.
func (f finished) is(text []byte) bool {
	return f.Text == digest(text) && time.Since(f.At) < time.Minute
}

// once keeps two hosts that hear of the same edit from formatting it twice.
func once(path string, f func(*finished) error) error {
	root, err := state.Root()
	if err != nil {
		return f(new(finished))
	}
	d := state.Dir(filepath.Join(root, "format", "files", digest([]byte(path))))
	return whet.Update(whet.Session{Store: d}, "last", f)
}

// Shadow returns the text of the file as the model last wrote it, and what
// formatting made of it. A patch that was written against the former is meant
// for the latter, see [Rebase].
func Shadow(s whet.Session, path string) (written, formatted []byte, ok bool) {
	_ = whet.Update(s, "format", func(m *memory) error { // no memory, no shadow
		for _, x := range m.Shadows {
			if x.Path != absolute(s, path) {
				continue
			}
			var ok1, ok2 bool
			written, ok1 = texts().Get(x.Written)
			formatted, ok2 = texts().Get(x.Formatted)
			ok = ok1 && ok2
		}
		return nil
	})
	return written, formatted, ok
}

// hostFormats reports whether the host formats what it edits: then we don't.
func hostFormats(s whet.Session) bool {
	return s.Host == "opencode" && openCodeFormats(s.Roots(), os.Getenv)
}
