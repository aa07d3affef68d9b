package market

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet/config"
)

// section is the part of the configuration that is read here.
type section struct {
	Marketplace Options `json:"marketplace,omitzero"`
}

const keyPath = "marketplace.packages."

// A layer is one place of the configuration and what it says of packages.
type layer struct {
	Path     string
	Scope    string // user, project or environment
	Packages map[string]bool
	origins  map[string]config.Origin
}

// an activation is what the configuration says of packages, lowest layer first.
type activation struct {
	layers  []layer
	Options Options
	broken  []config.Problem // layers that were left out whole
}

// activation reads every layer, each by the rules of the whole.
func (w Where) activation() activation {
	all := config.Load[section](w.Dir, w.Worktree, w.Environ)
	a := activation{Options: all.Config.Marketplace}
	for _, p := range all.Problems {
		if p.Syntax {
			a.broken = append(a.broken, p)
		}
	}
	for _, src := range all.Sources {
		if filepath.IsAbs(src) {
			one := config.Load[section]("", "", []string{"WHET_CONFIG=" + src})
			a.layers = append(a.layers, layer{src, w.scopeOf(src), one.Config.Marketplace.Packages, one.Origins})
		}
	}
	// The environment has the last word, and is no file: what it says is the
	// difference.
	env := layer{Path: "the environment", Scope: "environment", Packages: map[string]bool{}, origins: all.Origins}
	for id, on := range a.Options.Packages {
		if o := all.Origins[keyPath+id]; !filepath.IsAbs(o.Source) {
			env.Packages[id] = on
		}
	}
	a.layers = append(a.layers, env)
	return a
}

func (w Where) getenv(name string) string {
	for _, kv := range slices.Backward(w.Environ) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

func (w Where) scopeOf(file string) string {
	if dir := config.UserDir(w.getenv); dir != "" && filepath.Dir(file) == filepath.Clean(dir) {
		return "user"
	}
	if file == w.getenv("WHET_CONFIG") {
		return "environment"
	}
	return "project"
}

// decides returns the nearest layer that mentions the package, besides one.
func (a activation) decides(id, besides string) (l layer, on bool) {
	for _, l := range slices.Backward(a.layers) {
		if on, ok := l.Packages[id]; ok && l.Path != besides {
			return l, on
		}
	}
	return layer{}, false
}

func (a activation) on(id string) bool {
	_, on := a.decides(id, "")
	return on
}

// enabled lists the packages that are on, in order.
func (a activation) enabled() (ids []string) {
	for id := range a.Options.Packages {
		if a.on(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// references lists where a package is mentioned, as file:line.
func (a activation) references(id string) (at []string) {
	for _, l := range a.layers {
		if _, ok := l.Packages[id]; ok {
			at = append(at, l.at(id))
		}
	}
	return at
}

// at returns where the layer mentions the package, as file:line.
func (l layer) at(id string) string {
	if o := l.origins[keyPath+id]; o.Line > 0 && filepath.IsAbs(l.Path) {
		return fmt.Sprintf("%s:%d", l.Path, o.Line)
	}
	return l.Path
}

// A scopeFile is the file that an activation is written to.
type scopeFile struct {
	scope string
	path  string // as the configuration knows it
	dir   string // what the file may not lead out of
	name  string
}

// file returns where the scope's activations are, "" for the nearer one of
// those that there are.
func (w Where) file(scope string) (scopeFile, error) {
	project := w.project()
	switch {
	case scope == "user" || scope == "" && project == "":
		dir := config.UserDir(w.getenv)
		if dir == "" {
			return scopeFile{}, errorf(IO, "there is no place for a configuration; set HOME or WHET_CONFIG_DIR")
		}
		// A person may keep the file elsewhere and have a link here.
		path := existing(dir)
		real := path
		if r, err := filepath.EvalSymlinks(path); err == nil {
			real = r
		}
		return scopeFile{"user", path, filepath.Dir(real), filepath.Base(real)}, nil
	case project == "":
		return scopeFile{}, errorf(InvalidArguments, "there is no project here; use scope user")
	}
	return w.projectFile(existing(filepath.Join(project, ".whet"))), nil
}

// projectFile bounds a file of the project by its worktree: a link out of it is
// not followed.
func (w Where) projectFile(path string) scopeFile {
	top := cmp.Or(w.Worktree, w.Dir)
	if name, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(name) {
		return scopeFile{"project", path, top, name}
	}
	return scopeFile{"project", path, filepath.Dir(path), filepath.Base(path)}
}

// project returns the directory whose .whet is written to: the nearest that
// has one, or else the root of the worktree. It is "" if nothing makes this a
// project.
func (w Where) project() string {
	if w.Dir == "" {
		return ""
	}
	top := cmp.Or(w.Worktree, w.Dir)
	for d := w.Dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(existing(filepath.Join(d, ".whet"))); err == nil {
			return d
		}
		if d == top || d == filepath.Dir(d) {
			break
		}
	}
	for _, mark := range []string{".git", ".whet"} {
		if _, err := os.Lstat(filepath.Join(top, mark)); err == nil {
			return top
		}
	}
	return ""
}

// existing returns the configuration file in dir: whet.json if only that is there.
func existing(dir string) string {
	jsonc, plain := filepath.Join(dir, "whet.jsonc"), filepath.Join(dir, "whet.json")
	if _, err := os.Stat(jsonc); err == nil {
		return jsonc
	}
	if _, err := os.Stat(plain); err == nil {
		return plain
	}
	return jsonc
}
