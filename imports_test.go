package whet_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/whet-dev/whet"

// layers, lowest first: a package may import only packages of lower layers.
// ARCHITECTURE.md draws this table.
var layers = [][]string{
	{"."}, // the kernel
	{"internal/atomicfile", "internal/escape", "internal/hosttool", "internal/jsonc", "internal/lazyregexp", "internal/measure", "internal/pathflavor", "internal/peer", "internal/plainfile", "internal/proc", "internal/project", "internal/scriptmodel", "internal/similar", "internal/state", "internal/walk", "npm/opencode"},
	{"market/tree", "webfetch/article", "webfetch/md", "webfetch/pdftext"}, // libraries of a feature, usable alone
	{"internal/git", "internal/trust", "market/plugin", "market/store"},
	{"market/convert", "market/sign", "market/source"},
	{"config", "config/slim"},
	{"applypatch", "astgrep", "format", "loop", "market", "search", "webfetch"}, // features: they don't know each other
	{"agent", "task"}, // made of the kernel, so not plain libraries
	{"task/mail", "task/remote/natstest", "task/store", "task/tasktest", "task/worktree"},
	{"task/acp", "task/client", "task/llm", "task/opencode", "task/run", "task/web"},
	{"task/remote"},
	{"kit/guards", "kit/packages", "task/inhost"},
	{"kit"},
	{"host/hook", "host/mcp", "host/rpc", "install"},
	{"cmd/internal/cli"},
	{"cmd/whet", "cmd/whet-hook"}, // and bench/..., which may import everything
}

// wiring are the only files of a feature that may import the kernel or the
// state: the rest is a plain library that knows neither.
var wiring = []string{"tool.go", "guard.go", "options.go"}

const features = 6 // the layer of the features

func TestImports(t *testing.T) {
	rank := map[string]int{}
	for i, l := range layers {
		for _, p := range l {
			rank[p] = i
		}
	}
	met := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "scripts", "testdata", "tools"}, d.Name())) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		dir := path.Dir(filepath.ToSlash(p))
		from, ok := rank[dir]
		if dir == "bench" || strings.HasPrefix(dir, "bench/") {
			from, ok = len(layers), true
		}
		if !ok {
			t.Errorf("%s: package is in no layer; add it to layers in imports_test.go", dir)
			return nil
		}
		met[dir] = true
		for _, to := range imports(t, p) {
			if rank[to] >= from {
				t.Errorf("%s imports %s, which is not below it", p, to)
			}
			if from == features && (to == "." || to == "internal/state") && !slices.Contains(wiring, d.Name()) {
				t.Errorf("%s imports %s; in a feature only %s may", p, to, strings.Join(wiring, ", "))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for p := range rank {
		if !met[p] {
			t.Errorf("layers names %s, which is not there", p)
		}
	}
}

// imports lists the file's imports of the module's own packages.
func imports(t *testing.T, file string) (own []string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, im := range f.Imports {
		s, err := strconv.Unquote(im.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if s == module {
			own = append(own, ".")
		} else if to, ok := strings.CutPrefix(s, module+"/"); ok {
			own = append(own, to)
		}
	}
	return own
}
