package market

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/whet-dev/whet/internal/jsonc"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/market/store"
)

// Enable puts a package into force from the next session on, in a scope: user,
// project, or "" for the nearer one that there is.
func (m *Market) Enable(ctx context.Context, id, scope string) (Outcome, error) {
	o, err := m.activate(ctx, "enable", id, scope, true)
	return o, coded("enable", err)
}

// Disable takes a package out of force from the next session on.
func (m *Market) Disable(ctx context.Context, id, scope string) (Outcome, error) {
	o, err := m.activate(ctx, "disable", id, scope, false)
	return o, coded("disable", err)
}

func (m *Market) activate(ctx context.Context, action, id, scope string, on bool) (Outcome, error) {
	s, err := m.state()
	if err != nil {
		return Outcome{}, err
	}
	p, installed := s.lock.Packages[id]
	if on && !installed {
		return Outcome{}, notInstalled(id)
	}
	if on {
		if err := m.acceptable(id, p); err != nil {
			return Outcome{}, err
		}
		if found := s.store.Look(id, p); found != nil {
			return Outcome{}, errorf(IO, "%s is damaged: %s; install it again from %s", id, brief(found), p.Source.Path)
		}
	}
	word := map[bool]string{true: "nabled", false: "isabled"}[on]
	o := Outcome{Action: action, OK: true, Package: &Summary{ID: id}}
	if s.on(id) == on {
		o.Text = fmt.Sprintf("Already %s%s %s", action[:1], word, id)
		return m.finish(o), nil
	}
	file, err := m.file(scope)
	if err != nil {
		return Outcome{}, err
	}
	st, err := m.open()
	if err != nil {
		return Outcome{}, err
	}
	err = st.Change(ctx, func(tx *store.Tx) error {
		if _, ok := tx.Packages[id]; on && !ok {
			return notInstalled(id)
		}
		a := m.activation() // again, now that nobody else of us can change it
		if a.on(id) == on {
			return nil
		}
		e, err := a.edit(file, id, &on)
		if err != nil {
			return err
		}
		tx.Log = store.Entry{Action: action, ID: id, Text: file.path}
		return tx.Edit(e)
	})
	if err != nil {
		return Outcome{}, err
	}
	o.Changed = true
	o.Text = fmt.Sprintf("%s%s %s (%s)", strings.ToUpper(action[:1]), word, id, file.scope)
	if n := p.Components.Executable(); on && n > 0 && !s.trust.Has(id, p) {
		stay := map[bool]string{true: "stays", false: "stay"}[n == 1]
		o.Text += fmt.Sprintf("\n%s %s off until a person runs: whet market trust %s", plural(n, "executable part"), stay, id)
	}
	return m.finish(o), nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func notInstalled(id string) error {
	return errorf(NotFound, "%.100q is not installed; `marketplace list` shows what is", id)
}

// edit makes the edit after which the file says on of the package, by saying
// nothing if that is enough. A nil on only takes out what it says.
func (a activation) edit(file scopeFile, id string, on *bool) (store.Edit, error) {
	e := store.Edit{Dir: file.dir, Name: file.name}
	text, err := readConfig(file)
	if err != nil {
		return e, err
	}
	d, err := jsonc.Parse(text)
	if err != nil {
		return e, errorf(IO, "%s: %v; nothing was written", file.path, err)
	}
	by, besides := a.decides(id, file.path)
	if on != nil && besides != *on && !a.outranks(file, by) {
		return e, errorf(Conflict, "%s says otherwise and has the last word; change it there", by.at(id))
	}
	path := []string{"marketplace", "packages", id}
	if on == nil || besides == *on {
		if err = d.Delete(path...); err == nil {
			err = d.Prune(path[:2]...)
		}
	} else {
		err = d.Set(*on, path...)
	}
	if err != nil {
		return e, errorf(IO, "%s: %v; nothing was written", file.path, err)
	}
	e.Before, e.After = text, d.Bytes()
	return e, nil
}

// outranks reports whether the file's word counts before the layer's.
func (a activation) outranks(file scopeFile, than layer) bool {
	if than.Path == "" {
		return true // nobody says anything
	}
	if file.scope == "project" {
		return than.Scope != "environment"
	}
	return false
}

// maxConfig is more than any configuration has, in bytes.
const maxConfig = 1 << 20

func readConfig(file scopeFile) ([]byte, error) {
	root, err := os.OpenRoot(file.dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	b, err := plainfile.ReadIn(root, file.name, maxConfig)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if b == nil {
		b = []byte{}
	}
	return b, err
}

// Remove forgets a package. While the configuration mentions it, only force
// does, and takes the mentions of this project and of the user out.
func (m *Market) Remove(ctx context.Context, id string, force, purge bool) (Outcome, error) {
	st, err := m.open()
	if err != nil {
		return Outcome{}, coded("remove", err)
	}
	dropped := 0
	err = st.Change(ctx, func(tx *store.Tx) error {
		if _, ok := tx.Packages[id]; !ok {
			return notInstalled(id)
		}
		a := m.activation()
		refs := a.references(id)
		if len(refs) > 0 && !force {
			return errorf(Referenced, "%s is mentioned in %s; disable it there, or remove it with force", id, strings.Join(refs, ", "))
		}
		for _, l := range a.layers {
			if _, ok := l.Packages[id]; !ok {
				continue
			}
			if l.Scope == "environment" {
				return errorf(Referenced, "%s is mentioned in %s, which can't be edited here", id, l.at(id))
			}
			e, err := a.edit(m.fileOf(l), id, nil)
			if err != nil {
				return err
			}
			if err := tx.Edit(e); err != nil {
				return err
			}
			dropped++
		}
		delete(tx.Packages, id)
		delete(tx.Trust, id)
		tx.Log = store.Entry{Action: "remove", ID: id}
		if purge {
			if err := tx.Purge(id); err != nil {
				return err
			}
		}
		_, err := tx.Collect(store.Grace, false)
		return err
	})
	if err != nil {
		return Outcome{}, coded("remove", err)
	}
	o := Outcome{Action: "remove", OK: true, Changed: true}
	o.Text = fmt.Sprintf("Removed %s (%s dropped; other projects not scanned)", id, plural(dropped, "reference"))
	return m.finish(o), nil
}

// fileOf returns the file of a layer, as bounded as if it were written first.
func (m *Market) fileOf(l layer) scopeFile {
	if l.Scope == "user" {
		if f, err := m.file("user"); err == nil {
			return f
		}
	}
	return m.projectFile(l.Path)
}
