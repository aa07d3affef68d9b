package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// A builder gathers what the package will be.
type builder struct {
	in    tree.Tree
	files map[string]tree.File // the package's; at first those of in
	made  map[string]bool      // those that were added or replaced

	name       string
	meta       object // portable fields of the manifest
	title      string
	id         string
	settings   map[string]map[string]any
	requires   map[string]any
	optional   map[string]any
	routing    map[string]any
	servers    map[string]any // of mcp.json
	own        map[string]any // servers that need a setting
	hooks      map[string][]any
	formatters map[string]any

	notes    []plugin.Note
	said     map[string]bool
	upstream string
}

func newBuilder(t tree.Tree, name string) *builder {
	b := &builder{
		in: t, files: map[string]tree.File{}, made: map[string]bool{}, name: name, meta: object{},
		settings: map[string]map[string]any{}, routing: map[string]any{}, servers: map[string]any{}, own: map[string]any{},
		hooks: map[string][]any{}, formatters: map[string]any{}, said: map[string]bool{},
	}
	for _, f := range t {
		if strings.HasPrefix(f.Name, plugin.Namespace+"/") || strings.HasPrefix(f.Name, tree.SignatureDir) {
			b.once("left-out", f.Name, "what another format has in whet's own places isn't taken")
			continue
		}
		b.files[f.Name] = f
	}
	return b
}

func (b *builder) note(code, file, format string, args ...any) {
	b.notes = append(b.notes, plugin.Note{Code: code, File: file, Text: fmt.Sprintf(format, args...)})
}

// once notes what is the same for many files at the first of them.
func (b *builder) once(code, file, format string, args ...any) {
	key := code + fmt.Sprintf(format, args...)
	if !b.said[key] {
		b.said[key] = true
		b.note(code, file, format, args...)
	}
}

// put writes a file of the package. One that is replaced is kept as the
// original.
func (b *builder) put(name string, data []byte) {
	b.keep(name)
	b.files[name] = tree.File{Name: name, Data: data}
	b.made[name] = true
}

// keep puts a file as it was where originals are.
func (b *builder) keep(name string) {
	if old, ok := b.files[name]; ok && !b.made[name] {
		as := plugin.Original + name
		b.files[as] = tree.File{Name: as, Data: old.Data}
	}
}

// drop takes a file out of the package; its original is kept.
func (b *builder) drop(name string) {
	b.keep(name)
	delete(b.files, name)
}

// putJSON writes v indented, with its members in order.
func (b *builder) putJSON(name string, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fail("invalid-package", name, "%v", err)
	}
	b.put(name, buf.Bytes())
	return nil
}

// build writes the manifests and returns the package.
func (b *builder) build() (tree.Tree, error) {
	name := b.pluginName()
	m := map[string]any{"$schema": plugin.SchemaID("plugin", plugin.Schema), "name": name}
	maps.Copy(m, b.meta)
	ext := map[string]any{"schema": 1}
	if b.title != "" && b.title != name {
		ext["title"] = b.title
	}
	if b.id != "" {
		ext["id"] = b.id
	}
	for key, v := range map[string]map[string]any{"requires": b.requires, "optional": b.optional, "agents": b.routing} {
		if len(v) > 0 {
			ext[key] = v
		}
	}
	if len(b.settings) > 0 {
		ext["userConfig"] = b.settings
	}
	if len(ext) > 1 {
		m["extensions"] = map[string]any{plugin.Namespace: ext}
	}
	type file struct {
		name string
		v    any
		want bool
	}
	_, foreign := b.files[plugin.Servers]
	for _, f := range []file{
		{plugin.Manifest, m, true},
		{plugin.Servers, map[string]any{"$schema": plugin.SchemaID("mcp", plugin.Schema), "mcpServers": b.servers}, len(b.servers) > 0},
		{plugin.OwnServers, map[string]any{"mcpServers": b.own}, len(b.own) > 0},
		{plugin.Hooks, map[string]any{"hooks": b.hooks}, len(b.hooks) > 0},
		{plugin.Formatters, b.formatters, len(b.formatters) > 0},
	} {
		if !f.want {
			continue
		}
		if err := b.putJSON(f.name, f.v); err != nil {
			return nil, err
		}
	}
	if foreign && len(b.servers) == 0 {
		b.drop(plugin.Servers) // another program's, in a place that means something here
	}
	return tree.New(slices.Collect(maps.Values(b.files))), nil
}

// pluginName is the name in the form that the format wants.
func (b *builder) pluginName() string {
	name := strings.ReplaceAll(slug(b.name, '-', "._-"), "_", "-")
	for _, twice := range []string{"--", ".."} {
		for strings.Contains(name, twice) {
			name = strings.ReplaceAll(name, twice, twice[:1])
		}
	}
	if len(name) > 64 {
		name = name[:64]
	}
	name = strings.Trim(name, "-.")
	if !plugin.ValidName(name) {
		name = "package"
	}
	if name != b.name {
		b.note("renamed", plugin.Manifest, "%q can't be a name; it is called %s", b.name, name)
		if b.title == "" {
			b.title = oneLine(b.name)
		}
	}
	return name
}

// slug is s in lower case with only letters, digits and the extra characters;
// any other becomes by.
func slug(s string, by rune, extra string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune(extra, r) {
			return r
		}
		return by
	}, strings.ToLower(s))
	return strings.Trim(s, "-._")
}

// describe takes the portable fields of a foreign manifest.
func (b *builder) describe(o object) {
	if s := strings.TrimSpace(o.str("name")); s != "" {
		b.name = s
	}
	for _, key := range []string{"version", "description", "homepage", "license"} {
		if s := text(o[key]); s != "" {
			b.meta[key] = s
		}
	}
	if d := o.obj("description"); d != nil { // by language
		b.meta["description"] = d.str("en")
	}
	for _, key := range []string{"displayName", "display_name"} {
		if s := o.str(key); s != "" {
			b.title = s
		}
	}
	if r := o.obj("repository"); r != nil {
		b.meta["repository"] = r.str("url")
	} else if s := o.str("repository"); s != "" {
		b.meta["repository"] = s
	}
	if words := o.list("keywords"); len(words) > 0 {
		b.meta["keywords"] = words
	}
	author := map[string]any{}
	if s := o.str("author"); s != "" {
		author["name"] = s
	}
	for _, key := range []string{"name", "email", "url"} {
		if s := o.obj("author").str(key); s != "" {
			author[key] = s
		}
	}
	if len(author) > 0 {
		b.meta["author"] = author
	}
}

// unsupported notes parts that whet has no counterpart of.
func (b *builder) unsupported(file, what string) {
	b.note("unsupported-component", file, "%s: kept as files, and not used", what)
}

// below are the files of the source in a directory, "." for all, in order.
func (b *builder) below(dir string) (out []tree.File) {
	for _, f := range b.in {
		if dir == "." || strings.HasPrefix(f.Name, dir+"/") {
			out = append(out, f)
		}
	}
	return out
}

// has reports whether the source has the file or directory.
func (b *builder) has(name string) bool {
	if _, ok := b.in.Get(name); ok {
		return true
	}
	return len(b.below(name)) > 0
}

// stem is a file's name without its directory and ending.
func stem(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }
