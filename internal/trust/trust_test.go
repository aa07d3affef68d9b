package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/internal/trust"
)

// project makes a project with these files, and an empty place for state.
func project(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	t.Setenv("WHET_STATE", t.TempDir())
	dir = t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	const (
		unknown = "comes with this project and would run as a program; `whet trust` lets it"
		isNew   = "is new since `whet trust`"
		changed = "has changed since `whet trust`"
	)
	for _, c := range []struct {
		name    string
		granted []string // nil: nothing was granted
		then    func(t *testing.T, dir string)
		asked   []string
		want    string // in the error; "" for none
		about   string // the file that the error names
	}{
		{name: "nothing runs", asked: nil},
		{name: "never granted", asked: []string{"tool.js"}, want: unknown, about: "tool.js"},
		{name: "never granted, installed", asked: []string{"node_modules/.bin/x"}, want: unknown, about: "node_modules/.bin/x"},
		{name: "granted", granted: []string{"tool.js"}, asked: []string{"tool.js"}},
		{name: "granted, with nothing in it", granted: []string{}, asked: []string{"tool.js"}, want: isNew, about: "tool.js"},
		{name: "one of two granted", granted: []string{"tool.js"}, asked: []string{"tool.js", "sub/other.js"}, want: isNew, about: "sub/other.js"},
		{name: "both granted", granted: []string{"tool.js", "sub/other.js"}, asked: []string{"sub/other.js", "tool.js"}},
		{
			name: "changed since", granted: []string{"tool.js"}, asked: []string{"tool.js"}, want: changed, about: "tool.js",
			then: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "tool.js"), "evil") },
		},
		{
			name: "changed and changed back", granted: []string{"tool.js"}, asked: []string{"tool.js"},
			then: func(t *testing.T, dir string) {
				write(t, filepath.Join(dir, "tool.js"), "evil")
				write(t, filepath.Join(dir, "tool.js"), "tool")
			},
		},
		{
			name: "gone since", granted: []string{"tool.js"}, asked: []string{"tool.js"}, want: changed, about: "tool.js",
			then: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "tool.js")) },
		},
		{
			name: "a link to something else since", granted: []string{"tool.js"}, asked: []string{"tool.js"}, want: changed, about: "tool.js",
			then: func(t *testing.T, dir string) {
				remove(t, filepath.Join(dir, "tool.js"))
				link(t, "sub/other.js", filepath.Join(dir, "tool.js"))
			},
		},
		{
			name: "unreadable when granted", granted: []string{"missing.js"}, asked: []string{"missing.js"}, want: isNew, about: "missing.js",
			then: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "missing.js"), "new") },
		},
		{name: "installed packages go with the project", granted: []string{}, asked: []string{"node_modules/.bin/x", ".venv/bin/black", "vendor/bin/pint", "package.json", "sub/package.json"}},
		{name: "only by a whole name", granted: []string{}, asked: []string{"node_modules.js"}, want: isNew, about: "node_modules.js"},
		{
			name: "another project's grant", granted: []string{"tool.js"}, asked: []string{"tool.js"}, want: unknown, about: "tool.js",
			then: func(t *testing.T, dir string) {
				if err := trust.Revoke(dir); err != nil {
					t.Fatal(err)
				}
				if err := trust.Grant(t.TempDir(), map[string]string{"tool.js": trust.Sum([]byte("tool"))}); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "granted again with less", granted: []string{"tool.js"}, asked: []string{"tool.js"}, want: isNew, about: "tool.js",
			then: func(t *testing.T, dir string) {
				if err := trust.Grant(dir, nil); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "the record is damaged", granted: []string{"tool.js"}, asked: []string{"tool.js"}, want: unknown, about: "tool.js",
			then: func(t *testing.T, _ string) {
				write(t, filepath.Join(os.Getenv("WHET_STATE"), "trust.json"), "{")
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t, map[string]string{"tool.js": "tool", "sub/other.js": "other"})
			if c.granted != nil {
				files := map[string]string{}
				for _, name := range c.granted {
					files[name] = trust.Digest(filepath.Join(dir, name))
				}
				if err := trust.Grant(dir, files); err != nil {
					t.Fatal(err)
				}
			}
			if c.then != nil {
				c.then(t, dir)
			}
			var asked []string
			for _, name := range c.asked {
				asked = append(asked, filepath.Join(dir, filepath.FromSlash(name)))
			}
			err := trust.Check(dir, asked)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v", err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.about+" ") || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %s … %s", err, c.about, c.want)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
}

// A project is the directory, by whatever path one gets there.
func TestThroughLinks(t *testing.T) {
	dir := project(t, map[string]string{"tool.js": "tool"})
	other := filepath.Join(t.TempDir(), "link")
	link(t, dir, other)
	if err := trust.Grant(other, map[string]string{"tool.js": trust.Sum([]byte("tool"))}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, other} {
		if err := trust.Check(d, []string{filepath.Join(d, "tool.js")}); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
	if err := trust.Check(other, []string{filepath.Join(dir, "tool.js")}); err != nil {
		t.Errorf("the file by its own path: %v", err)
	}
	if err := trust.Revoke(dir); err != nil {
		t.Fatal(err)
	}
	if _, ok := trust.Of(other); ok {
		t.Error("still trusted after it was taken back")
	}
}

func TestName(t *testing.T) {
	dir := project(t, map[string]string{"a/b.js": ""})
	outside := filepath.Join(t.TempDir(), "x.js")
	for path, want := range map[string]string{
		filepath.Join(dir, "a", "b.js"): "a/b.js",
		filepath.Join(dir, "..b.js"):    "..b.js",
		outside:                         filepath.ToSlash(outside),
		dir + "2/a.js":                  filepath.ToSlash(dir + "2/a.js"),
	} {
		if got := trust.Name(dir, path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestHas(t *testing.T) {
	p := trust.Project{Files: map[string]string{"a": "1", "unreadable": ""}}
	for _, c := range []struct {
		name, digest string
		want         bool
	}{
		{"a", "1", true},
		{"a", "2", false},
		{"b", "1", false},
		{"unreadable", "", false}, // no digest is no agreement
		{"b", "", false},
	} {
		if got := p.Has(c.name, c.digest); got != c.want {
			t.Errorf("%s %q: got %v", c.name, c.digest, got)
		}
	}
}

// Projects that are granted at the same time don't lose each other; a damaged
// record is not written over.
func TestRecord(t *testing.T) {
	project(t, nil)
	var dirs []string
	for range 8 {
		dirs = append(dirs, t.TempDir())
	}
	var wg sync.WaitGroup
	for _, dir := range dirs {
		wg.Go(func() {
			if err := trust.Grant(dir, map[string]string{"a": "1"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, dir := range dirs {
		p, ok := trust.Of(dir)
		if diff := cmp.Diff(map[string]string{"a": "1"}, p.Files); !ok || p.At.IsZero() || diff != "" {
			t.Errorf("%s: %v, at %v, %s", dir, ok, p.At, diff)
		}
	}
	file := filepath.Join(os.Getenv("WHET_STATE"), "trust.json")
	write(t, file, "not JSON")
	if err := trust.Grant(dirs[0], nil); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("a damaged record: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "not JSON" {
		t.Errorf("the damaged record became %q, %v", b, err)
	}
}
