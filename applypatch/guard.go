package applypatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
)

// Guard returns the guard of the hosts' own patch tools. Before such a tool
// runs it rewrites a stale patch so that the host's applier, which knows less,
// does the right thing with it, and refuses one whose place isn't certain. After
// it, it puts right what that applier can't keep: a final newline, line endings.
func Guard(o Options) whet.Guard {
	g := guard{o}
	return whet.Guard{Name: "applypatch", Before: g.before, After: g.after}
}

type guard struct{ opt Options }

// A ticket is what the second half of the guard must know.
type ticket struct {
	ID      string
	Remarks []string
	Repairs []repair
}

type repair struct {
	Path, Want string
	Host       []string // what the host's applier would leave
}

const (
	maxTickets = 8
	maxRepair  = 1 << 20 // bytes; a bigger file is left as the host wrote it
)

// served are the hosts that have only our own tool, which needs no rewriting.
var served = []string{"mcp", "cli"}

func (g guard) before(_ context.Context, c *whet.Call) error {
	if c.Tool != "apply_patch" && c.Tool != "patch" || c.Session.Dir == "" || slices.Contains(served, c.Session.Host) {
		return nil
	}
	name, patch := patchArg(c.Args)
	if patch == "" || c.Tool == "patch" && !strings.Contains(patch, beginMark) {
		return nil
	}
	w, err := Open(c.Session.Dir, append(c.Session.Roots(), g.opt.ExtraRoots...)...)
	if err != nil {
		return err
	}
	defer w.Close()
	plan, err := planText(w, patch, g.opt.in(c.Session))
	if err != nil {
		return g.verdict(err)
	}
	r, err := plan.Render(DialectOf(c.Session.Host), patch)
	if err != nil {
		if plan.hostAgrees(DialectOf(c.Session.Host), patch) {
			return nil
		}
		return whet.Refuse("%s", err)
	}
	if r.Changed {
		if c.Args, err = withArg(c.Args, name, r.Text); err != nil {
			return err
		}
	}
	return g.remember(c, plan, r)
}

func planText(w *Workspace, patch string, opt Options) (*Plan, error) {
	p, err := Parse(patch)
	if err != nil {
		return nil, err
	}
	return Resolve(w, p, opt)
}

// verdict turns a plan's error into a refusal, or lets the host decide.
func (g guard) verdict(err error) error {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	if e.Kind == Blocked && g.opt.Outside == "defer" || e.Code == NoChange {
		return nil
	}
	return whet.Refuse("%s", e)
}

// hostAgrees reports whether the original patch makes the host do what the plan
// wants, as far as the host can.
func (p *Plan) hostAgrees(d Dialect, original string) bool {
	got, err := Replay(d, p.before(), original)
	return err == nil && p.compare(&Rendered{}, got) == nil
}

// patchArg finds the argument that holds the patch: a member, or all of args.
func patchArg(args json.RawMessage) (name, patch string) {
	var s string
	if json.Unmarshal(args, &s) == nil {
		return "", s
	}
	for _, name := range []string{"patchText", "patch", "input", "command", "patch_text"} {
		if s := whet.StringArg(args, name); s != "" {
			return name, s
		}
	}
	return "", ""
}

func withArg(args json.RawMessage, name, patch string) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if name == "" {
		err := e.Encode(patch)
		return bytes.TrimSpace(b.Bytes()), err
	}
	var m map[string]any
	if err := json.Unmarshal(args, &m); err != nil {
		return nil, err
	}
	m[name] = patch
	err := e.Encode(m)
	return bytes.TrimSpace(b.Bytes()), err
}

// remember keeps for after the call what must be put right and told then.
func (g guard) remember(c *whet.Call, p *Plan, r *Rendered) error {
	t := ticket{ID: c.ID, Remarks: p.remarks()}
	for _, o := range r.Hosts {
		if g.opt.Repair == "off" || len(o.Want) > maxRepair {
			continue
		}
		abs := ""
		for _, f := range p.Files {
			if f.Path == o.Path {
				abs = f.target.real
			}
		}
		if i := slices.IndexFunc(t.Repairs, func(r repair) bool { return r.Path == abs }); i >= 0 {
			t.Repairs[i].Host = append(t.Repairs[i].Host, o.Host)
		} else {
			t.Repairs = append(t.Repairs, repair{abs, o.Want, []string{o.Host}})
		}
	}
	if t.Remarks == nil && t.Repairs == nil {
		return nil
	}
	return whet.Update(c.Session, "applypatch", func(ts *[]ticket) error {
		*ts = append(*ts, t)
		*ts = (*ts)[max(0, len(*ts)-maxTickets):]
		return nil
	})
}

func (g guard) after(ctx context.Context, c *whet.Call, r *whet.Result) error {
	if c.Tool != "apply_patch" && c.Tool != "patch" || slices.Contains(served, c.Session.Host) {
		return nil
	}
	var t *ticket
	err := whet.Update(c.Session, "applypatch", func(ts *[]ticket) error {
		i := slices.IndexFunc(*ts, func(t ticket) bool { return t.ID == c.ID })
		if i < 0 {
			return nil
		}
		found := (*ts)[i]
		t = &found
		*ts = slices.Delete(*ts, i, i+1)
		return nil
	})
	if err != nil || t == nil || r.Failed {
		return err
	}
	if len(t.Remarks) > 0 {
		r.Note("[whet] the patch did not fit the files exactly and was adapted:\n%s", clip(strings.Join(t.Remarks, "\n"), MaxReport))
	}
	if len(t.Repairs) == 0 {
		return nil
	}
	w, err := Open(c.Session.Dir, append(c.Session.Roots(), g.opt.ExtraRoots...)...)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, f := range t.Repairs {
		for _, host := range f.Host {
			// A file that is neither was touched by a formatter: it is right as it is.
			err := Commit(ctx, w, []Change{{Path: f.Path, Old: []byte(host), New: []byte(f.Want)}}, CommitOptions{})
			if err == nil {
				break
			}
			if CodeOf(err) != FileChanged {
				return err
			}
		}
	}
	return nil
}
