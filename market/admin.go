package market

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/market/store"
)

// What follows is for people alone: no tool calls it.

// Trust lets the executable parts of a package run as they are now. The tree
// is that which the person has looked at: if another is installed by then,
// nothing is granted.
func (m *Market) Trust(ctx context.Context, id, tree, note string) (Outcome, error) {
	return m.grant(ctx, "trust", id, func(tx *store.Tx, p store.Package) error {
		if p.Tree != tree {
			return errorf(Conflict, "%s is %s, not %s; look at it again", id, p.Tree, tree)
		}
		if p.Exec == "" {
			return errorf(InvalidArguments, "%s brings nothing that runs; there is nothing to trust", id)
		}
		if found := m.damage(id, p); found != nil {
			return errorf(IO, "%s is damaged: %s; install it again from %s", id, brief(found), p.Source.Path)
		}
		tx.Trust[id] = store.Grant{Exec: p.Exec, At: time.Now().UTC().Truncate(time.Second), Note: note}
		return nil
	})
}

// damage says what of a package isn't as it was installed.
func (m *Market) damage(id string, p store.Package) []store.Finding {
	st, err := m.open()
	if err != nil {
		return []store.Finding{{What: err.Error()}}
	}
	return st.Verify(id, p)
}

// Distrust takes Trust back.
func (m *Market) Distrust(ctx context.Context, id string) (Outcome, error) {
	return m.grant(ctx, "distrust", id, func(tx *store.Tx, _ store.Package) error {
		delete(tx.Trust, id)
		return nil
	})
}

func (m *Market) grant(ctx context.Context, action, id string, f func(*store.Tx, store.Package) error) (Outcome, error) {
	st, err := m.open()
	if err != nil {
		return Outcome{}, coded(action, err)
	}
	err = st.Change(ctx, func(tx *store.Tx) error {
		p, ok := tx.Packages[id]
		if !ok {
			return notInstalled(id)
		}
		tx.Log = store.Entry{Action: action, ID: id, Text: p.Exec}
		return f(tx, p)
	})
	if err != nil {
		return Outcome{}, coded(action, err)
	}
	word := map[string]string{"trust": "Trusted", "distrust": "No longer trusted:"}[action]
	return m.finish(Outcome{Action: action, OK: true, Changed: true, Package: &Summary{ID: id}, Text: word + " " + id}), nil
}

// Rollback goes back to the version before. A second one goes forth again.
func (m *Market) Rollback(ctx context.Context, id string) (Outcome, error) {
	st, err := m.open()
	if err != nil {
		return Outcome{}, coded("rollback", err)
	}
	var from, to store.Package
	err = st.Change(ctx, func(tx *store.Tx) error {
		var ok bool
		if from, ok = tx.Packages[id]; !ok {
			return notInstalled(id)
		}
		if len(from.Previous) == 0 {
			return errorf(Conflict, "no earlier version of %s is kept", id)
		}
		to = from.Previous[0]
		if found := st.Verify(id, to); len(found) > 0 {
			return errorf(IO, "%s@%s is damaged: %s", id, to.Version, brief(found))
		}
		to.Previous = slices.Concat(past(from, true)[:1], from.Previous[1:])
		tx.Packages[id] = to
		tx.Log = store.Entry{Action: "rollback", ID: id, Text: to.Version + " " + to.Tree}
		return nil
	})
	if err != nil {
		return Outcome{}, coded("rollback", err)
	}
	return m.finish(Outcome{
		Action: "rollback", OK: true, Changed: true, Package: &Summary{ID: id},
		Text: fmt.Sprintf("Rolled back %s %s -> %s", id, from.Version, to.Version),
	}), nil
}

// errDry ends a change that is only tried.
var errDry = errors.New("nothing is to be changed")

// GC removes what nothing refers to any more. With dry set it only says what.
func (m *Market) GC(ctx context.Context, dry bool) (Outcome, error) {
	o := Outcome{Action: "gc", OK: true}
	st, err := m.open()
	if err != nil {
		return o, coded("gc", err)
	}
	var g store.Garbage
	err = st.Change(ctx, func(tx *store.Tx) (err error) {
		g, err = tx.Collect(store.Grace, dry)
		if err == nil && dry {
			return errDry
		}
		return err
	})
	if err != nil && !errors.Is(err, errDry) {
		return o, coded("gc", err)
	}
	o.Changed = g.Files > 0 && !dry
	verb := map[bool]string{true: "Would remove", false: "Removed"}[dry]
	o.Text = fmt.Sprintf("%s %s, %d bytes", verb, plural(g.Files, "unused file"), g.Bytes)
	return o, nil
}

// Repair mends what can be mended from what is there. The outcome is not OK if
// something is left that can't.
func (m *Market) Repair(ctx context.Context) (Outcome, error) {
	st, err := m.open()
	if err != nil {
		return Outcome{}, coded("repair", err)
	}
	done, left, err := st.Repair(ctx)
	if err != nil {
		return Outcome{}, coded("repair", err)
	}
	o := Outcome{Action: "repair", OK: len(left) == 0, Changed: len(done) > 0, Text: "nothing to repair"}
	if lines := append(done, left...); len(lines) > 0 {
		o.Text = escape.Lines(strings.Join(lines, "\n"))
	}
	return o, nil
}
