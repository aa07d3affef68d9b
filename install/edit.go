package install

import (
	"slices"
	"strconv"

	"github.com/whet-dev/whet/internal/jsonc"
)

// A change is something that whet puts into a JSON file and takes out again.
type change interface {
	apply(*jsonc.Document) error
	undo(*jsonc.Document) error
}

// An edit is one thing that whet puts into a JSON file.
type edit struct {
	path  []string // of the object or list that gets it
	name  string   // of the member; "" for an element of a list
	value any
	ours  func(any) bool // whether a value is whet's, of this version or another
}

// apply puts the edit into the text, or does nothing if it is there.
func (e edit) apply(d *jsonc.Document) error {
	at, there := e.find(d)
	if _, ok := d.Get(at...); ok && !there && !d.Has(e.value, at...) {
		return isAnothers(at...)
	}
	return d.Set(e.value, at...)
}

// find returns the place of what is whet's where the edit goes, or else the
// place for it.
func (e edit) find(d *jsonc.Document) (at []string, there bool) {
	at = append(slices.Clone(e.path), e.name)
	v, _ := d.Get(e.path...)
	switch v := v.(type) {
	case map[string]any:
		x, ok := v[e.name]
		return at, ok && e.ours(x)
	case []any:
		if i := slices.IndexFunc(v, e.ours); e.name == "" && i >= 0 {
			at[len(e.path)] = strconv.Itoa(i)
			return at, true
		}
	}
	if e.name == "" {
		at[len(e.path)] = "-"
	}
	return at, false
}

// undo takes out all that is whet's where the edit goes, and the containers
// that are empty then.
func (e edit) undo(d *jsonc.Document) error {
	found := false
	for {
		at, there := e.find(d)
		if !there {
			break
		}
		found = true
		if err := d.Delete(at...); err != nil {
			return err
		}
	}
	if !found {
		return nil
	}
	return d.Prune(e.path...)
}
