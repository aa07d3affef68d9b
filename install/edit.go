package install

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// An edit is one thing that whet puts into a JSON file.
type edit struct {
	path  []string // of the object or list that gets it
	name  string   // of the member; "" for an element of a list
	value any
	ours  func(any) bool // whether a value is whet's, of this version or another
}

// apply puts the edit into the text, or does nothing if it is there.
func (e edit) apply(d *document) error {
	for i := range e.path {
		if v := d.find(e.path[:i+1]...); v == nil || isNull(v) {
			var container any = map[string]any{}
			if i == len(e.path)-1 && e.name == "" {
				container = []any{}
			}
			if v != nil {
				return fmt.Errorf("%s is null; remove it first", strings.Join(e.path[:i+1], "."))
			}
			if err := d.add(e.path[:i], e.path[i], container); err != nil {
				return err
			}
		}
	}
	all, _, err := slots(d.find(e.path...))
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(e.path, "."), err)
	}
	for _, s := range all {
		if s.name != e.name || e.name == "" && !e.ours(plain(s.value)) {
			continue
		}
		switch {
		case equal(s.value, e.value):
			return nil
		case e.ours(plain(s.value)):
			return d.replace(s, e.value)
		}
		return fmt.Errorf("%s is there already and isn't whet's; rename it first", strings.Join(append(e.path, e.name), "."))
	}
	return d.add(e.path, e.name, e.value)
}

func isNull(v *hujson.Value) bool {
	lit, ok := v.Value.(hujson.Literal)
	return ok && lit.Kind() == 'n'
}

// undo takes out all that is whet's where the edit goes, and the containers
// that are empty then.
func (e edit) undo(d *document) error {
	found := false
	for {
		v := d.find(e.path...)
		if v == nil {
			return nil
		}
		all, _, err := slots(v)
		if err != nil {
			return nil // not of our making
		}
		at := -1
		for i, s := range all {
			if s.name == e.name && e.ours(plain(s.value)) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		found = true
		if err := d.remove(e.path, at); err != nil {
			return err
		}
	}
	for n := len(e.path); found && n > 0; n-- {
		all, after, err := slots(d.find(e.path[:n]...))
		if err != nil || len(all) > 0 || strings.TrimSpace(string(after)) != "" {
			break
		}
		parents, _, err := slots(d.find(e.path[:n-1]...))
		if err != nil {
			return err
		}
		for i, s := range parents {
			if s.name == e.path[n-1] {
				if err := d.remove(e.path[:n-1], i); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}
