package convert

import (
	"path"
	"slices"
	"strings"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// fromCatalogue lists the plugins of a catalogue, or takes the one called sub.
// A catalogue of one plugin, which is the tree itself, is that plugin.
func fromCatalogue(t tree.Tree, file, name, sub string) (Result, error) {
	f, _ := t.Get(file)
	m, err := parse(f)
	if err != nil {
		return Result{}, err
	}
	plugins, _ := m["plugins"].([]any)
	var entries []Entry
	var objects []object
	for _, p := range plugins {
		o, _ := p.(map[string]any)
		e, ok := entryOf(object(o), m)
		if !ok {
			continue
		}
		entries = append(entries, e)
		objects = append(objects, object(o))
	}
	only := len(entries) == 1 && entries[0].Source == "."
	if sub == "" && !only {
		return Result{Format: Catalogue, Catalogue: entries}, nil
	}
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == sub })
	if now := m.obj("renames").str(sub); i < 0 && now != "" {
		i = slices.IndexFunc(entries, func(e Entry) bool { return e.Name == now })
	}
	switch {
	case sub == "":
		i = 0
	case i < 0:
		return Result{}, fail("no-such-plugin", file, "it has no plugin %q; it has %s", cut(sub, 80), someNames(entries))
	}
	e := entries[i]
	if e.Remote {
		return Result{}, fail("remote-source-not-fetched", file, "%s is at %s, and packages are read from this machine only; download it and import it from there", e.Name, cut(e.Source, 200))
	}
	part := below(t, e.Source)
	if len(part) == 0 {
		return Result{}, fail("invalid-package", file, "%s is in %q, and there is nothing", e.Name, cut(e.Source, 200))
	}
	format, manifest := sniffPlugin(part)
	r, err := convert(part, e.Name, format, manifest, entry(objects[i]))
	if len(plugins) > len(entries) {
		r.Notes = append(r.Notes, plugin.Note{Code: "invalid-entry", File: file, Text: "some plugins of the catalogue have no name or no source"})
	}
	return r, err
}

// entry is what a catalogue says of a plugin, without where it is.
func entry(o object) object {
	out := object{}
	for k, v := range o {
		if k != "source" {
			out[k] = v
		}
	}
	return out
}

// sniffPlugin is sniff for a part of a catalogue, which is no catalogue itself.
func sniffPlugin(t tree.Tree) (format, file string) {
	inner := slices.DeleteFunc(slices.Clone(t), func(f tree.File) bool { return path.Base(f.Name) == "marketplace.json" })
	if format, file = sniff(inner); format == "" || format == "agent-skills" {
		return "claude-plugin", "" // the catalogue's entry is the manifest
	}
	return format, file
}

// entryOf reads an entry. Its source is a path in the tree, or something that
// would have to be fetched.
func entryOf(o, catalogue object) (e Entry, ok bool) {
	e = Entry{Name: o.str("name"), Version: text(o["version"]), Description: cut(oneLine(o.str("description")), 1000)}
	p := o.str("source")
	if s := o.obj("source"); s != nil {
		if s.str("source") == "local" || s.str("source") == "directory" {
			p = s.str("path")
		} else {
			e.Remote = true
			for _, key := range []string{"url", "repo", "package"} {
				if v := s.str(key); v != "" && e.Source == "" {
					e.Source = v
				}
			}
			return e, e.Name != ""
		}
	}
	if root := catalogue.obj("metadata").str("pluginRoot"); root != "" && !strings.HasPrefix(p, ".") {
		p = path.Join(root, p)
	}
	if strings.Contains(p, "://") || strings.HasPrefix(p, "git@") {
		e.Source, e.Remote = p, true
		return e, e.Name != ""
	}
	clean, inside := local(p)
	e.Source = clean
	return e, inside && e.Name != "" && p != ""
}

// below is a directory of the tree as a tree of its own.
func below(t tree.Tree, dir string) tree.Tree {
	if dir == "." {
		return slices.Clone(t)
	}
	var out []tree.File
	for _, f := range t {
		if rest, ok := strings.CutPrefix(f.Name, dir+"/"); ok {
			f.Name = rest
			out = append(out, f)
		}
	}
	return tree.New(out)
}

func someNames(entries []Entry) string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return strings.Join(names, ", ")
}
