package source_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market/source"
	"github.com/whet-dev/whet/market/tree"
)

// A repo is a real repository for a test.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T, format ...string) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := repo{t, filepath.Join(t.TempDir(), "work")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "--quiet", "--initial-branch=main"}, format...)...)
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) commit(entries []entry) string {
	r.t.Helper()
	writeDir(r.t, r.dir, entries)
	r.git("add", "-A")
	r.git("commit", "--quiet", "-m", "x")
	return r.git("rev-parse", "HEAD")
}

func (r repo) bundle(refs ...string) string {
	r.t.Helper()
	file := filepath.Join(filepath.Dir(r.dir), "p.bundle")
	r.git(append([]string{"bundle", "create", "--quiet", file}, refs...)...)
	return file
}

// nothingLeft makes temporary files go to a directory of the test, and looks in
// the end that there are none.
func nothingLeft(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
}

func TestBundle(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			r := newRepo(t, "--object-format="+format)
			first := r.commit([]entry{
				{name: "plugin.json", body: "{}"},
				{name: "sub/skills/x/SKILL.md", body: "s"},
				{name: "run.sh", body: "#!/bin/sh\n", mode: 0o755},
				{name: "link.md", link: "sub/skills/x/SKILL.md"},
				// Neither may have an effect: the files are the commit's.
				{name: ".gitattributes", body: "secret.md export-ignore\nsubst.md export-subst\n"},
				{name: "secret.md", body: "not exported"},
				{name: "subst.md", body: "$Format:%H$\n"},
			})
			r.git("tag", "v1")
			second := r.commit([]entry{{name: "new", body: "n"}})
			file := r.bundle("HEAD", "main", "v1")
			nothingLeft(t)

			all := []string{".gitattributes", "link.md", "plugin.json", "run.sh*", "secret.md", "sub/skills/x/SKILL.md", "subst.md"}
			for _, tt := range []struct {
				part, commit string
				want         []string
			}{
				{"", second, append([]string{".gitattributes", "link.md", "new"}, all[2:]...)},
				{"#main", second, append([]string{".gitattributes", "link.md", "new"}, all[2:]...)},
				{"#v1", first, all},
				{"#refs/tags/v1", first, all},
				{"#" + first[:10], first, all},
				{"#v1:sub/skills", first, []string{"x/SKILL.md"}},
				{":sub", second, []string{"skills/x/SKILL.md"}},
			} {
				got, info, err := source.Read(t.Context(), file+tt.part)
				if err != nil {
					t.Errorf("%s: %v", tt.part, err)
					continue
				}
				if d := cmp.Diff(tt.want, names(got)); d != "" || info.Commit != tt.commit || info.Kind != "bundle" || info.Archive == "" {
					t.Errorf("%s: %s%+v", tt.part, d, info)
				}
				if f, _ := got.Get("subst.md"); len(got) > 2 && string(f.Data) != "$Format:%H$\n" {
					t.Errorf("subst.md is %q", f.Data)
				}
			}
			for part, code := range map[string]string{
				"#none": "no-such-ref", "#--upload-pack=x": "no-such-ref", ":../x": "traversal", ":none": "unreadable", "#v1:plugin.json": "unreadable",
			} {
				_, _, err := source.Read(t.Context(), file+part)
				if e := (*source.Error)(nil); !errors.As(err, &e) || e.Code != code {
					t.Errorf("%s: %v, want %s", part, err, code)
				}
			}
		})
	}
}

func TestBundleSubmodule(t *testing.T) {
	inner := newRepo(t)
	inner.commit([]entry{{name: "f", body: "x"}})
	r := newRepo(t)
	r.git("submodule", "--quiet", "add", inner.dir, "lib")
	r.commit([]entry{{name: "plugin.json", body: "{}"}})
	file := r.bundle("main")
	nothingLeft(t)
	got, info, err := source.Read(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Get("lib/f"); ok || len(info.Notes) != 1 || info.Notes[0].Code != "submodule-not-included" || info.Notes[0].File != "lib" {
		t.Errorf("%v %v", names(got), info.Notes)
	}
}

func TestHostileBundles(t *testing.T) {
	base := func(t *testing.T) string {
		r := newRepo(t)
		r.commit([]entry{{name: "f", body: strings.Repeat("some text that is long enough\n", 100)}})
		return r.bundle("main")
	}
	change := func(t *testing.T, f func([]byte) []byte) string {
		file := base(t)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T) string
		code string
	}{
		{"flipped byte", func(t *testing.T) string {
			return change(t, func(b []byte) []byte { b[len(b)-40] ^= 1; return b })
		}, "unreadable"},
		{"cut short", func(t *testing.T) string { return change(t, func(b []byte) []byte { return b[:len(b)-50] }) }, "unreadable"},
		{"only the header", func(t *testing.T) string {
			return change(t, func([]byte) []byte { return []byte("# v2 git bundle\n\n") })
		}, "no-such-ref"},
		{"needs more", func(t *testing.T) string {
			r := newRepo(t)
			r.commit([]entry{{name: "f", body: "1"}})
			r.commit([]entry{{name: "f", body: "2"}})
			return r.bundle("main~1..main")
		}, "unreadable"},
		{"link out", func(t *testing.T) string {
			r := newRepo(t)
			r.commit([]entry{{name: "l", link: "../../etc/passwd"}})
			return r.bundle("main")
		}, "link-escapes"},
		{"case", func(t *testing.T) string {
			r := newRepo(t)
			r.commit([]entry{{name: "f", body: "1"}})
			id := r.git("rev-parse", "HEAD:f")
			r.git("update-index", "--add", "--cacheinfo", "100644,"+id+",F")
			r.git("commit", "--quiet", "-m", "y")
			return r.bundle("main")
		}, "case-collision"},
		{"device name", func(t *testing.T) string {
			r := newRepo(t)
			r.commit([]entry{{name: "aux.md", body: "1"}})
			return r.bundle("main")
		}, "reserved-name"},
		{"large file", func(t *testing.T) string {
			r := newRepo(t)
			r.commit([]entry{{name: "f", body: strings.Repeat("\x00", source.SmallFile+1)}})
			return r.bundle("main")
		}, "file-too-large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := tt.make(t)
			nothingLeft(t)
			got, _, err := source.ReadSmall(t.Context(), file)
			var e *source.Error
			if !errors.As(err, &e) || e.Code != tt.code || got != nil {
				t.Errorf("%v, want %s", err, tt.code)
			}
		})
	}
}

func TestBundleInterrupted(t *testing.T) {
	r := newRepo(t)
	r.commit([]entry{{name: "f", body: "1"}})
	file := r.bundle("main")
	nothingLeft(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := source.Read(ctx, file); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestBundleWithoutGit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.bundle")
	if err := os.WriteFile(file, []byte("# v2 git bundle\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	_, _, err := source.Read(t.Context(), file)
	if e := (*source.Error)(nil); !errors.As(err, &e) || e.Code != "git-not-found" {
		t.Error(err)
	}
}

// What a person has configured for git has no influence, and their hooks don't
// run.
func TestBundleConfiguration(t *testing.T) {
	r := newRepo(t)
	r.commit([]entry{{name: "f", body: "1"}})
	file := r.bundle("main")
	home := t.TempDir()
	evil := "[core]\n\thooksPath = " + filepath.ToSlash(home) + "\n\tfsmonitor = touch ran\n[init]\n\ttemplateDir = " + filepath.ToSlash(home) + "\n[transfer]\n\tfsckObjects = false\n"
	writeDir(t, home, []entry{{name: ".gitconfig", body: evil}, {name: "hooks/reference-transaction", body: "#!/bin/sh\ntouch " + filepath.ToSlash(home) + "/ran\n", mode: 0o755}})
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", filepath.Join(home, "nowhere"))
	t.Setenv("GIT_TEMPLATE_DIR", home)
	t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(home, "objects"))
	var got tree.Tree
	got, _, err := source.Read(t.Context(), file)
	if err != nil || len(got) != 1 {
		t.Fatal(names(got), err)
	}
	for _, name := range []string{"ran", "objects"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}
