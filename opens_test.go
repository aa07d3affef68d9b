package whet_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// opensItself lists the files that may open a file by package os although their
// package works in a project, where a file may be a pipe: each opens only what
// whet itself has made, or what a person at the keyboard named.
var opensItself = map[string]string{
	"applypatch/journal.go":    "its own journal",
	"applypatch/os_linux.go":   "to flush a directory",
	"applypatch/os_unix.go":    "to flush a directory",
	"market/source/archive.go": "what a person named",
	"internal/trust/trust.go":  "its own list",
	"webfetch/disk.go":         "its own cache",
}

// Whoever opens a file of a project by its name goes through plainfile: a pipe
// in its place would hold up the agent for ever.
func TestProjectFilesAreOpenedWithCare(t *testing.T) {
	met := map[string]bool{}
	for _, dir := range []string{"agent", "applypatch", "astgrep", "config", "format", "internal/trust", "kit/packages", "loop", "market", "market/convert", "market/plugin", "market/source", "search", "task/worktree", "webfetch"} {
		files, err := filepath.Glob(filepath.FromSlash(dir) + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := filepath.ToSlash(file)
			if strings.HasSuffix(name, "_test.go") || !opensFiles(t, file) {
				continue
			}
			if met[name] = true; opensItself[name] == "" {
				t.Errorf("%s opens a file by os.Open, os.ReadFile or a root; use internal/plainfile, or say in opensItself why it may", name)
			}
		}
	}
	for name := range opensItself {
		if !met[name] {
			t.Errorf("opensItself names %s, which opens nothing", name)
		}
	}
}

// opensFiles reports whether the file calls X.ReadFile, os.Open or root.Open.
func opensFiles(t *testing.T, file string) (opens bool) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on := ""
		switch x := sel.X.(type) {
		case *ast.Ident:
			on = x.Name
		case *ast.SelectorExpr:
			on = x.Sel.Name
		}
		switch {
		case sel.Sel.Name == "ReadFile", sel.Sel.Name == "Open" && (on == "os" || on == "root" || on == "r"):
			opens = true
		}
		return true
	})
	return opens
}
