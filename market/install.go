package market

import (
	"context"
	"fmt"
	"slices"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/market/convert"
	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/store"
)

// kept is how many earlier versions stay for a rollback.
const kept = 2

// Install keeps a package of whet's own format. It enables nothing.
func (m *Market) Install(ctx context.Context, path string) (Outcome, error) {
	return m.take(ctx, "install", path)
}

// Import keeps a package of any format that is known. It enables nothing.
func (m *Market) Import(ctx context.Context, path string) (Outcome, error) {
	return m.take(ctx, "import", path)
}

// Update replaces an installed package by a newer one. One without a version
// is newer if its files differ.
func (m *Market) Update(ctx context.Context, path string) (Outcome, error) {
	return m.take(ctx, "update", path)
}

func (m *Market) take(ctx context.Context, action, path string) (Outcome, error) {
	r, info, err := m.fetch(ctx, path)
	if err != nil {
		return Outcome{}, coded(action, err)
	}
	switch {
	case r.Tree == nil && action == "import":
		return offer(path, r.Catalogue), nil
	case r.Tree == nil:
		return Outcome{}, coded(action, errorf(InvalidArguments, "%s is a catalogue; choose one plugin of it with PATH#NAME (import lists them)", path))
	case r.Format != convert.Native && action == "install":
		return Outcome{}, coded(action, errorf(InvalidPackage, "%s is a %s and not of whet's own format; use import", info.Path, r.Format))
	}
	c, err := m.candidate(r, info)
	if err != nil {
		return Outcome{}, coded(action, err)
	}
	s, err := m.open()
	if err != nil {
		return Outcome{}, coded(action, err)
	}
	var old store.Package
	var known bool
	err = s.Change(ctx, func(tx *store.Tx) error {
		old, known = tx.Packages[c.id]
		check := installable
		if action == "update" {
			check = newer
		}
		if err := check(c, old, known); err != nil {
			return err
		}
		if err := tx.Put(c.id, c.tree); err != nil {
			return err
		}
		if known && old.Tree == c.pkg.Tree && action != "update" {
			return nil // only what was damaged of it is new
		}
		tx.Log = store.Entry{Action: action, ID: c.id, Text: c.pkg.Version + " " + c.pkg.Tree}
		c.pkg.Previous = past(old, known)
		tx.Packages[c.id] = c.pkg
		if action == "update" {
			_, err := tx.Collect(store.Grace, false)
			return err
		}
		return nil
	})
	if err != nil {
		return Outcome{}, coded(action, err)
	}
	return m.finish(taken(action, c, old, known)), nil
}

func past(old store.Package, known bool) []store.Package {
	if !known {
		return nil
	}
	all := append([]store.Package{old}, old.Previous...)
	all[0].Previous = nil
	return all[:min(len(all), kept)]
}

// installable is nil for what is new, and for what is here byte for byte.
func installable(c *candidate, old store.Package, known bool) error {
	switch {
	case !known || old.Tree == c.pkg.Tree && old.Version == c.pkg.Version:
		return nil
	case old.Version != c.pkg.Version:
		return errorf(Conflict, "%s@%s is installed and this is %s; use update", c.id, old.Version, c.pkg.Version)
	}
	return errorf(Conflict, "%s@%s is installed with other content: %s there, %s here; give it a new version", c.id, old.Version, old.Tree, c.pkg.Tree)
}

// newer is nil if the candidate may replace what is there.
func newer(c *candidate, old store.Package, known bool) error {
	if !known {
		return errorf(Conflict, "%s is not installed; use install", c.id)
	}
	if old.Tree == c.pkg.Tree {
		return errorf(Conflict, "%s@%s is what is installed: its files are the same", c.id, old.Version)
	}
	if !c.pkg.Versioned && !old.Versioned {
		return nil
	}
	if !plugin.ValidVersion(old.Version) {
		return nil // nothing that can be compared with
	}
	switch compare(c.pkg.Version, old.Version) {
	case 0:
		return errorf(Conflict, "%s@%s is installed with other content: %s there, %s here; give it a new version", c.id, old.Version, old.Tree, c.pkg.Tree)
	case -1:
		return errorf(Conflict, "%s@%s is installed, which is newer than %s; whet market rollback goes back", c.id, old.Version, c.pkg.Version)
	}
	return nil
}

func taken(action string, c *candidate, old store.Package, known bool) Outcome {
	o := Outcome{Action: action, OK: true, Changed: true, Notes: c.notes, Package: &Summary{ID: c.id}}
	switch {
	case action == "update":
		o.Text = fmt.Sprintf("Updated %s %s -> %s", c.id, old.Version, c.pkg.Version)
		if old.Exec != c.pkg.Exec && c.pkg.Components.Executable() > 0 {
			o.Notes = append(o.Notes, fmt.Sprintf("its executable parts have changed and stay off until a person runs: whet market trust %s", c.id))
		}
	case known:
		o.Changed = false
		o.Text = fmt.Sprintf("Already installed %s@%s, nothing changed", c.id, c.pkg.Version)
	default:
		from := ""
		if c.pkg.Source.Format != convert.Native {
			from = " from " + c.pkg.Source.Format
		}
		o.Text = fmt.Sprintf("Installed %s@%s%s (%d files, %s; not enabled)", c.id, c.pkg.Version, from, c.pkg.Files, abbreviated(c.pkg.Tree))
	}
	if slices.Contains([]string{"untrusted-key"}, c.pkg.Signature.Status) {
		o.Notes = append(o.Notes, "signed by a key that you don't have: "+c.pkg.Signature.Key)
	}
	return o
}

// abbreviated shows enough of a digest to tell it from others.
func abbreviated(digest string) string {
	if len(digest) < 20 {
		return digest
	}
	return digest[:19] + "…"
}

// finish adds to a change what it means for the session and its project.
func (m *Market) finish(o Outcome) Outcome {
	s, err := m.state()
	if err == nil {
		if o.Package != nil {
			sum := s.summary(o.Package.ID)
			o.Package = &sum
		}
		var in []*admission
		in, o.Diagnostics = s.admit()
		o.ReloadRequired = m.reload(s, in)
		for _, d := range o.Diagnostics {
			if o.Package != nil && d.ID == o.Package.ID {
				o.Notes = append(o.Notes, d.Code+": "+d.Text) // it is on, and yet not all of it is in force
			}
		}
	} else {
		o.ReloadRequired = unknown
	}
	for _, n := range o.Notes {
		o.Text += "\nnote: " + escape.Lines(n)
	}
	return o
}

const unknown = "unknown"

// reload compares what is in force now with what was when the session began.
func (m *Market) reload(s *state, in []*admission) string {
	if m.Live == nil || len(s.broken) > 0 {
		return unknown
	}
	was, ok := m.Live()
	if !ok {
		return unknown
	}
	if slices.EqualFunc(was, live(in), Live.equal) {
		return "false"
	}
	return "true"
}
