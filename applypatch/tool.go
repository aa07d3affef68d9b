package applypatch

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
)

//go:embed apply_patch.md
var doc string

type input struct {
	Patch  string `json:"patch" alias:"patchText,patch_text,input,command" doc:"the patch, from *** Begin Patch to *** End Patch" eg:"*** Begin Patch\n*** Update File: a.go\n@@\n-old\n+new\n*** End Patch"`
	DryRun bool   `json:"dry_run,omitempty" doc:"only say what would change"`
}

// Tool returns the apply_patch tool: it applies a patch itself, all or nothing.
func Tool(o Options) whet.Tool {
	t := whet.New("apply_patch", doc, func(ctx context.Context, c *whet.Call, in input) (*Report, error) {
		if c.Session.Dir == "" {
			return nil, errors.New("apply_patch: the project's directory is not known")
		}
		return Run(ctx, in.Patch, Job{Dir: c.Session.Dir, Others: append(c.Session.Roots(), o.ExtraRoots...), Options: o.in(c.Session), DryRun: in.DryRun})
	})
	t.Destructive = true
	return t
}

// A Job is where and how [Run] applies a patch.
type Job struct {
	Dir     string
	Others  []string // more roots
	Options Options
	DryRun  bool
}

// Run parses, plans and, unless it is a dry run, applies a patch. A refusal is
// a Report too; an error means that the workspace can't be used at all.
func Run(ctx context.Context, patch string, j Job) (*Report, error) {
	w, err := Open(j.Dir, j.Others...)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p, err := Parse(patch)
	if err != nil {
		return refused(err), nil
	}
	plan, err := Resolve(w, p, j.Options)
	if err != nil {
		return refused(err), nil
	}
	r := &Report{OK: true, Written: !j.DryRun, Plan: plan}
	if j.DryRun {
		return r, nil
	}
	if err := plan.Commit(ctx, Journal()); err != nil {
		return refused(err), nil
	}
	for _, c := range plan.Changes() {
		if c.New != nil {
			r.written = append(r.written, c.Path)
		}
	}
	return r, nil
}

// Journal is the directory of the journals, made if need be; "" if there is no
// place for them: a patch is still applied all or nothing then, but for a crash.
func Journal() string {
	root, err := state.Root()
	if err != nil {
		return ""
	}
	dir := filepath.Join(root, "txn")
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	return dir
}

// A Report is the outcome of a patch: what it changed, or why it didn't.
type Report struct {
	OK      bool `json:"ok"`
	Written bool `json:"changed"`
	*Plan
	Kind       Kind        `json:"kind,omitempty"`
	Code       Code        `json:"code,omitempty"`
	Message    string      `json:"message,omitempty"`
	At         *At         `json:"at,omitempty"`
	Candidates []Candidate `json:"candidates,omitempty"`

	text    string // of a refusal
	written []string
}

func refused(err error) *Report {
	r := &Report{text: err.Error(), Message: err.Error()}
	if e := (*Error)(nil); errors.As(err, &e) {
		r.Kind, r.Code, r.Message, r.Candidates = e.Kind, e.Code, e.Message, e.Candidates
		if e.At != (At{}) {
			r.At = &e.At
		}
	}
	return r
}

// Failed reports that nothing was applied.
func (r *Report) Failed() bool { return !r.OK }

// Changed lists the files written, absolute.
func (r *Report) Changed() []string { return r.written }

// String is what the model reads: the list that the hosts' own tools print,
// then a line for each chunk that did not stand byte for byte where it was.
func (r *Report) String() string {
	if !r.OK {
		return r.text
	}
	var b strings.Builder
	b.WriteString("Success. Updated the following files:\n")
	if !r.Written {
		b.Reset()
		b.WriteString("Dry run: nothing was written. The patch would update the following files:\n")
	}
	for _, f := range r.Files {
		b.WriteString(f.line() + "\n")
	}
	for _, n := range r.remarks() {
		b.WriteString(n + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (f *File) line() string {
	switch f.Op {
	case Add:
		return "A " + f.Path
	case Delete:
		return "D " + f.Path
	case Move:
		return "M " + f.From + " -> " + f.Path
	}
	return "M " + f.Path
}

// remarks says, a line each, what was not as the patch expected.
func (p *Plan) remarks() (lines []string) {
	for _, f := range p.Files {
		for i, c := range f.Chunks {
			if s := c.remark(); s != "" {
				lines = append(lines, fmt.Sprintf("%s, chunk %d (lines %d-%d): %s", f.Path, i+1, c.Lines[0], c.Lines[1], s))
			}
		}
	}
	for _, u := range p.Unchanged {
		lines = append(lines, u+": already as the patch wants it")
	}
	return append(lines, p.Notes...)
}

func (c *ChunkReport) remark() string {
	var s []string
	switch c.Tier {
	case Exact:
	case RightTrimmed:
		s = append(s, "matched but for white space at line ends")
	case Folded:
		s = append(s, "matched but for typography")
	case LineNumbers:
		s = append(s, "line numbers before the lines were ignored")
	case Indented:
		s = append(s, "re-indented to the file's indentation")
	case Aligned:
		s = append(s, "the file has changed since; placed by the lines that are still there")
	}
	for _, l := range c.Stale {
		s = append(s, fmt.Sprintf("deleted %s, which the patch had as %s", quote(l[1]), quote(l[0])))
	}
	for _, n := range c.Notes {
		s = append(s, map[string]string{
			anchorIgnored:         "its @@ line isn't there and was ignored",
			"end_of_file_ignored": "it isn't at the end of the file",
			"reordered":           "out of order",
		}[n])
	}
	return strings.Join(s, "; ")
}
