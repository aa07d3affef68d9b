package astgrep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/internal/walk"
)

// A selection is which files the engine gets.
type selection struct {
	whole bool     // the places themselves: it is to find the files
	files []string // else these
	Skipped
	seen int // files of the language
}

// Skipped are files of the language that the engine would pass by in silence.
type Skipped struct {
	Large   []string `json:"large,omitempty"`   // over 3 MB and 200,000 lines
	NotUTF8 []string `json:"notUtf8,omitempty"` // in another encoding
}

// A place is a file or a directory to search.
type place struct {
	name string // as the engine gets it
	abs  string
	dir  bool
}

// places finds what the query's paths are, and whether one is within another.
func (q *Query) places() (places []place, overlap bool, err error) {
	paths := q.Paths
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, p := range paths {
		p = path.Clean(filepath.ToSlash(p))
		abs := filepath.FromSlash(p)
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(q.Dir, abs)
		}
		info, err := os.Stat(abs)
		if err != nil {
			return nil, false, fmt.Errorf("searching %s: %w; nothing was searched", escape.Text(p), err)
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return nil, false, fmt.Errorf("searching %s: it is neither a file nor a directory; nothing was searched", escape.Text(p))
		}
		if slices.ContainsFunc(places, func(o place) bool { return o.abs == abs }) {
			continue
		}
		for _, o := range places {
			overlap = overlap || within(o.abs, abs) || within(abs, o.abs)
		}
		places = append(places, place{p, abs, info.IsDir()})
	}
	return places, overlap, nil
}

func within(dir, p string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}

// A scan is a walk over the places of a query for the files that may match.
type scan struct {
	places  []place
	overlap bool
	lang    language
	filters filters
	needles []needle

	ctx     context.Context
	stop    context.CancelCauseFunc
	prefix  string // of the place that is walked
	workers []worker
	seen    atomic.Int32
	passed  atomic.Int32
}

type worker struct {
	buf   []byte
	files []string
	Skipped
}

// What the engine passes by: it has a file at most this large or this long.
const (
	maxFileSize = 3_000_000
	maxLines    = 200_000
)

// sample is how many files are looked at before the walk may be given up
// because its words are in most of them.
const sample = 192

var errUnselective = errors.New("the words are in most files")

// run chooses the files. If nothing can be left out for sure, or most files
// hold the words, the engine gets the places whole: it walks as fast.
func (s *scan) run(ctx context.Context) (selection, error) {
	if len(s.needles) == 0 && !s.overlap && !s.filters.any() {
		return selection{whole: true}, nil
	}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	defer s.stop(nil)
	s.workers = make([]worker, runtime.GOMAXPROCS(0))
	for _, p := range s.places {
		err := s.place(p)
		if context.Cause(s.ctx) == errUnselective {
			return selection{whole: true}, nil
		}
		if err != nil {
			return selection{}, err
		}
	}
	var sel selection
	sel.seen = int(s.seen.Load())
	for _, w := range s.workers {
		sel.files = append(sel.files, w.files...)
		sel.Large = append(sel.Large, w.Large...)
		sel.NotUTF8 = append(sel.NotUTF8, w.NotUTF8...)
	}
	for _, list := range []*[]string{&sel.files, &sel.Large, &sel.NotUTF8} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return sel, nil
}

func (s *scan) place(p place) error {
	if !p.dir {
		if !s.lang.reads(p.name) || !s.filters.match(path.Base(p.name)) {
			return nil
		}
		s.seen.Add(1)
		f, err := plainfile.Open(p.abs)
		if err != nil {
			return fmt.Errorf("searching %s: %w; nothing was searched", escape.Text(p.name), err)
		}
		defer func() { _ = f.Close() }()
		s.workers[0].look(s, p.name, f)
		return nil
	}
	root, err := os.OpenRoot(p.abs)
	if err != nil {
		return fmt.Errorf("searching %s: %w; nothing was searched", escape.Text(p.name), err)
	}
	defer func() { _ = root.Close() }()
	s.prefix = strings.TrimSuffix(p.name, "/") + "/"
	if p.name == "." {
		s.prefix = ""
	}
	// The engine takes files whose name begins with a dot for what their
	// ending says, and knows no .rgignore.
	_, err = walk.Walk(s.ctx, walk.Options{Root: root, HiddenFile: s.lang.reads, NoRgignore: true}, s.visit)
	return err
}

func (s *scan) visit(worker int, e walk.Entry) {
	if !s.lang.reads(e.Path) || !s.filters.match(e.Path) {
		return
	}
	seen := s.seen.Add(1)
	w := &s.workers[worker]
	if len(s.needles) == 0 {
		w.files = append(w.files, s.prefix+e.Path)
		return
	}
	f, err := e.Open()
	if err != nil {
		return // nor can the engine
	}
	w.look(s, s.prefix+e.Path, f)
	_ = f.Close()
	if seen == sample && s.passed.Load() > sample*9/10 && !s.overlap && !s.filters.any() {
		s.stop(errUnselective)
	}
}

// look decides on one file.
func (w *worker) look(s *scan, name string, f *os.File) {
	text, whole := w.read(f)
	switch {
	case !whole: // let the engine decide
	case !holds(text, s.needles):
		return
	case len(text) > maxFileSize && bytes.Count(text, []byte("\n")) > maxLines:
		w.Large = append(w.Large, name)
		return
	case !utf8.Valid(text):
		w.NotUTF8 = append(w.NotUTF8, name)
		return
	}
	s.passed.Add(1)
	w.files = append(w.files, name)
}

// read returns the file's bytes, in a buffer that the next call uses again, and
// whether that is all of them.
func (w *worker) read(f *os.File) ([]byte, bool) {
	const most = 32 << 20
	if w.buf == nil {
		w.buf = make([]byte, 256<<10)
	}
	n := 0
	for {
		m, err := f.Read(w.buf[n:])
		n += m
		if err == io.EOF {
			return w.buf[:n], true
		}
		if err != nil || n >= most {
			return w.buf[:n], false
		}
		if n == len(w.buf) {
			w.buf = append(w.buf, make([]byte, len(w.buf))...)
		}
	}
}
