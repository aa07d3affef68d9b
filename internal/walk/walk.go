package walk

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// Options say which files a walk yields.
type Options struct {
	// Root is the directory to walk, opened by its absolute path. The caller
	// keeps it open until the walk has returned.
	Root *os.Root

	Hidden bool // also names that begin with a dot, except .git
	// HiddenFile tells of a file whose name begins with a dot that it isn't
	// hidden all the same; nil: none.
	HiddenFile func(name string) bool
	NoIgnore   bool // also what .gitignore, .ignore and .rgignore leave out
	// NoRgignore leaves .rgignore unread, which is ripgrep's alone.
	NoRgignore bool
	// LeftOut also yields the files that the two above leave out, marked so.
	LeftOut bool

	Workers int // 0: one for each processor
}

// A Reason tells why a file would be left out.
type Reason int8

// The reasons.
const (
	Wanted  Reason = iota // it isn't left out
	Ignored               // an ignore rule
	Hidden                // a name that begins with a dot
)

// An Entry is a regular file that the walk came to.
type Entry struct {
	Path   string // from the root, with slashes
	Reason Reason // Wanted unless Options.LeftOut
	dir    *handle
	name   string
}

// Open opens the file for reading. Only while it is being visited. If a named
// pipe has been put in its place, it doesn't wait for a writer.
func (e Entry) Open() (*os.File, error) {
	return e.dir.root.OpenFile(filepath.FromSlash(e.name), os.O_RDONLY|nonblock, 0)
}

// Info looks at the file itself. Only while it is being visited.
func (e Entry) Info() (fs.FileInfo, error) { return e.dir.root.Lstat(e.name) }

// Counts tell what a walk met. A directory that is left out counts as one, not
// as what is in it.
type Counts struct {
	Files      int // yielded, and not left out
	Ignored    int // left out by ignore rules
	Hidden     int // left out for their name
	Links      int // symbolic links, which are never followed
	Special    int // pipes, sockets, devices
	Unreadable int // directories that can't be listed
}

// Walk calls visit for every file below the root, from several goroutines at
// once: worker is which one, from 0 to less than the number of workers. It
// returns when all are done or, with the context's error, when that ends.
func Walk(ctx context.Context, o Options, visit func(worker int, e Entry)) (Counts, error) {
	n := o.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	w := &walker{Options: o, ctx: ctx, visit: visit, wake: sync.NewCond(&sync.Mutex{})}
	top := job{}
	if !o.NoIgnore {
		top.rules = above(o.Root.Name(), o.NoRgignore)
	}
	w.abs = strings.TrimSuffix(filepath.ToSlash(o.Root.Name()), "/")
	w.push(top)
	counts := make([]Counts, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { w.work(i, &counts[i]) })
	}
	wg.Wait()
	var sum Counts
	for _, c := range counts {
		sum.add(c)
	}
	return sum, ctx.Err()
}

func (c *Counts) add(d Counts) {
	c.Files += d.Files
	c.Ignored += d.Ignored
	c.Hidden += d.Hidden
	c.Links += d.Links
	c.Special += d.Special
	c.Unreadable += d.Unreadable
}

// A handle keeps a directory open until the last of its files was visited.
type handle struct {
	root  *os.Root
	users atomic.Int32
}

func (h *handle) release() {
	if h.users.Add(-1) == 0 {
		_ = h.root.Close()
	}
}

// A job is a directory to list or, once listed, files to visit.
type job struct {
	path   string // from the root; "" is the root
	reason Reason // why all below is left out
	rules  ruleSet
	dir    *handle // set: visit files
	files  []Entry
}

type walker struct {
	Options
	ctx   context.Context
	visit func(int, Entry)
	abs   string // the root's absolute path with slashes, none at the end

	wake *sync.Cond // guards what follows
	jobs []job      // a stack: depth first keeps it short
	open int        // jobs pushed and not done
}

func (w *walker) push(jobs ...job) {
	w.wake.L.Lock()
	defer w.wake.L.Unlock()
	w.jobs = append(w.jobs, jobs...)
	w.open += len(jobs)
	w.wake.Broadcast()
}

func (w *walker) pop() (job, bool) {
	w.wake.L.Lock()
	defer w.wake.L.Unlock()
	for len(w.jobs) == 0 && w.open > 0 {
		w.wake.Wait()
	}
	if len(w.jobs) == 0 {
		return job{}, false
	}
	j := w.jobs[len(w.jobs)-1]
	w.jobs = w.jobs[:len(w.jobs)-1]
	return j, true
}

func (w *walker) done() {
	w.wake.L.Lock()
	defer w.wake.L.Unlock()
	if w.open--; w.open == 0 {
		w.wake.Broadcast()
	}
}

func (w *walker) work(worker int, c *Counts) {
	for {
		j, ok := w.pop()
		if !ok {
			return
		}
		switch {
		case j.dir != nil:
			w.visitAll(worker, j, c)
		case w.ctx.Err() == nil:
			w.list(j, c)
		}
		w.done()
	}
}

func (w *walker) visitAll(worker int, j job, c *Counts) {
	defer j.dir.release()
	for _, e := range j.files {
		if w.ctx.Err() != nil {
			return
		}
		if e.Reason == Wanted {
			c.Files++
		}
		w.visit(worker, e)
	}
}

// list reads a directory and pushes what is in it.
func (w *walker) list(j job, c *Counts) {
	root, entries, err := w.read(j.path)
	if err != nil {
		c.Unreadable++
		return
	}
	abs := w.abs
	if j.path != "" {
		abs += "/" + j.path
	}
	if !w.NoIgnore {
		j.rules = j.rules.enter(abs, lookup{root: root, names: ruleNames(entries), abs: abs, noRg: w.NoRgignore})
	}
	dir := &handle{root: root}
	dir.users.Add(1)
	defer dir.release()
	var dirs []job
	var files []Entry
	for _, e := range entries {
		name := e.Name()
		if name == ".git" {
			continue // git's own, no text of the project
		}
		reason, descend := w.judge(&j, abs, e, c)
		switch {
		case reason != Wanted && !w.LeftOut:
		case descend:
			dirs = append(dirs, job{path: join(j.path, name), reason: reason, rules: j.rules})
		case e.Type().IsRegular():
			files = append(files, Entry{Path: join(j.path, name), Reason: reason, dir: dir, name: name})
		}
	}
	w.push(dirs...)
	const chunk = 64 // files a worker takes at once: a flat directory must spread too
	for len(files) > 0 {
		n := min(chunk, len(files))
		dir.users.Add(1)
		w.push(job{dir: dir, files: files[:n:n]})
		files = files[n:]
	}
}

func (w *walker) read(path string) (*os.Root, []fs.DirEntry, error) {
	if path == "" {
		path = "."
	}
	root, err := w.Root.OpenRoot(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := readDir(f)
	if err != nil && len(entries) == 0 {
		_ = root.Close()
		return nil, nil, err
	}
	return root, entries, nil
}

// judge decides on one entry, and counts it if that is the end of it.
func (w *walker) judge(j *job, abs string, e fs.DirEntry, c *Counts) (reason Reason, descend bool) {
	name := e.Name()
	dir := e.IsDir()
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		c.Links++
		return Wanted, false
	case !dir && !e.Type().IsRegular():
		c.Special++
		return Wanted, false
	case j.reason != Wanted:
		return j.reason, dir
	}
	v := silent
	if !w.NoIgnore {
		v = j.rules.match(abs+"/"+name, name, dir)
	}
	switch {
	case v == ignored:
		c.Ignored++
		return Ignored, dir
	case v != kept && !w.Hidden && strings.HasPrefix(name, ".") && (dir || w.HiddenFile == nil || !w.HiddenFile(name)):
		c.Hidden++
		return Hidden, dir
	}
	return Wanted, dir
}

func ruleNames(entries []fs.DirEntry) (names []string) {
	for _, e := range entries {
		if isRuleName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
