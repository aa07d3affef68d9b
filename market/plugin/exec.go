package plugin

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/whet-dev/whet/market/tree"
)

// Exec is the part of a package that can make something run: trust is bound to
// its digest. It is empty for a package of prose.
//
// It is wider than what the configurations name: once anything of the package
// may run, a program in it can load any other file, so that every file counts
// but the signatures, the kept originals, and prose and pictures that no
// configuration mentions. Of the manifest only the settings count.
func Exec(t tree.Tree) tree.Tree {
	p, err := Parse(t)
	if err != nil {
		return nil
	}
	local := len(p.Hooks)+len(p.Formatters)+len(p.Scripts)+len(p.Modules) > 0
	for _, s := range p.Servers {
		local = local || s.Type == "stdio"
	}
	if !local && len(p.Servers) == 0 {
		return nil
	}
	var mentions strings.Builder
	for _, f := range t {
		if configures(f.Name) {
			mentions.Write(f.Data)
		}
	}
	var files []tree.File
	for _, f := range t {
		switch {
		case strings.HasPrefix(f.Name, tree.SignatureDir), strings.HasPrefix(f.Name, Original):
			continue
		case f.Name == Manifest:
			f.Exec = false
			if f.Data, err = json.Marshal(p.Settings); err != nil || len(p.Settings) == 0 {
				continue
			}
		case configures(f.Name), f.Exec:
		case !local:
			continue
		case prose(f.Name) && !strings.Contains(mentions.String(), path.Base(f.Name)):
			continue
		}
		files = append(files, f)
	}
	return tree.New(files)
}

// configures reports whether a file says what runs.
func configures(name string) bool {
	return slices.Contains([]string{Servers, OwnServers, Formatters}, name) || strings.HasPrefix(name, Namespace+"/hooks/")
}

// prose reports whether a file is text for people and models, or a picture.
func prose(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx", ".rst", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".ico", ".pdf":
		return true
	}
	return slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "CHANGELOG", "README"}, path.Base(name)) || strings.HasPrefix(path.Base(name), "LICENSE")
}
