package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/jsonc"
)

// A Guest is an MCP server of a marketplace's package. Hosts start it by whet,
// which looks each time whether it is still enabled and trusted.
type Guest struct {
	Name   string // in the host's configuration
	Server string // PACKAGE/SERVER
}

// isGuest reports whether an entry starts such a server, by whichever whet.
func isGuest(v any) bool {
	c, ok := commandOf(v)
	return ok && c.isProgram() && len(c.Words) == 4 && c.Words[1] == "mcp" && c.Words[2] == "--server"
}

func (g Guest) args() []string { return []string{"mcp", "--server", g.Server} }

// servers are the edits of an object of MCP servers: whet's own and the guests.
func (e Env) servers(object string, whet entry) []change {
	g := guests{object: object, wanted: map[string]entry{}}
	for _, guest := range e.Guests {
		x := whet
		x.Args = guest.args()
		g.wanted[guest.Name] = x
	}
	return []change{member(object, whet), g}
}

// guests are the members of an object that are guests. Those that are wanted no
// more go.
type guests struct {
	object string
	wanted map[string]entry
}

func (g guests) apply(d *jsonc.Document) error {
	for _, name := range g.there(d) {
		if _, ok := g.wanted[name]; !ok {
			if err := d.Delete(g.object, name); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.wanted)) {
		if v, ok := d.Get(g.object, name); ok && !isGuest(v) {
			return isAnothers(g.object, name)
		}
		if err := d.Set(g.wanted[name], g.object, name); err != nil {
			return err
		}
	}
	return nil
}

func isAnothers(path ...string) error {
	return fmt.Errorf("%s is there already and isn't whet's; rename it first", strings.Join(path, "."))
}

func (g guests) undo(d *jsonc.Document) error {
	names := g.there(d)
	for _, name := range names {
		if err := d.Delete(g.object, name); err != nil {
			return err
		}
	}
	if names == nil {
		return nil
	}
	return d.Prune(g.object)
}

// there lists the guests that the file has.
func (g guests) there(d *jsonc.Document) []string {
	v, _ := d.Get(g.object)
	return guestNames(v)
}

func guestNames(v any) (names []string) {
	m, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if isGuest(m[name]) {
			names = append(names, name)
		}
	}
	return names
}

// guestTables are the guests of a TOML file, one table each.
type guestTables struct {
	object string
	wanted map[string]table
}

func (e Env) codexServer(name string, args ...string) table {
	var words []string
	for _, a := range args {
		words = append(words, quoteTOML(a))
	}
	return table{
		path:   []string{"mcp_servers", name},
		values: [][2]string{{"command", quoteTOML(e.exe())}, {"args", "[" + strings.Join(words, ", ") + "]"}},
	}
}

func (e Env) codexGuests() *guestTables {
	g := &guestTables{object: "mcp_servers", wanted: map[string]table{}}
	for _, guest := range e.Guests {
		g.wanted[guest.Name] = e.codexServer(guest.Name, guest.args()...)
	}
	return g
}

// tables puts whet's tables into a TOML file, or takes them out.
func (f file) tables(text []byte, remove bool) ([]byte, error) {
	own := f.table.apply
	if remove {
		own = f.table.undo
	}
	text, err := own(text)
	if err != nil || f.more == nil {
		return text, err
	}
	have, err := readTOML(text)
	if err != nil {
		return nil, err
	}
	object, _ := have[f.more.object].(map[string]any)
	there := guestNames(object)
	for _, name := range there {
		if _, ok := f.more.wanted[name]; remove || !ok {
			if text, err = (table{path: []string{f.more.object, name}}).undo(text); err != nil {
				return nil, err
			}
		}
	}
	if remove {
		return text, nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.more.wanted)) {
		if _, ok := object[name]; ok && !slices.Contains(there, name) {
			return nil, isAnothers(f.more.object, name)
		}
		if text, err = f.more.wanted[name].apply(text); err != nil {
			return nil, err
		}
	}
	return text, nil
}
