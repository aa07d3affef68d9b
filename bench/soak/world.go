//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/whet-dev/whet/internal/peer"
)

// A world is a person's machine: a home, a project, what lies beside it, and
// the directories that whet may write to.
type world struct {
	dir     string
	project string
	mark    string // in the environment of every process that is started here
	canary  string // in every file that must never be read
	root    *os.Root
	env     []string
	before  map[string]string // what must not change
}

// newWorld makes one in dir.
func newWorld(dir string, seed uint64) (*world, error) {
	w := &world{
		dir: dir, project: filepath.Join(dir, "my project"),
		mark: "WHET_SOAK=" + filepath.Base(dir), canary: fmt.Sprintf("CANARY%016xBIRD", seed*0x9e3779b97f4a7c15+1),
	}
	for _, d := range []string{"my project/.git/objects", "my project/.git/refs", "my project/src/deep/er", "my project/.whet", "my project-evil", "outside/dir", "home/.ssh", "tmp", "state", "cache"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	secret := "package secret // " + w.canary + "\n\nvar Alpha = \"alpha " + w.canary + "\"\n"
	for _, f := range []string{"my project-evil/secret.go", "outside/secret.go", "outside/dir/secret.go", "home/.ssh/id_ed25519", "home/.netrc", "outside/victim.txt"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(secret), 0o600); err != nil {
			return nil, err
		}
	}
	var err error
	if w.root, err = os.OpenRoot(w.project); err != nil {
		return nil, err
	}
	if err := w.furnish(); err != nil {
		return nil, err
	}
	if w.before, err = w.look(); err != nil {
		return nil, err
	}
	w.env = w.environment()
	return w, nil
}

func (w *world) environment() []string {
	path := os.Getenv("PATH")
	if eng := peer.Lookup("ast-grep"); eng != "" {
		path = filepath.Dir(eng) + ":" + path
	}
	return []string{
		"PATH=" + path, "LANG=C.UTF-8", "HOME=" + filepath.Join(w.dir, "home"), "TMPDIR=" + filepath.Join(w.dir, "tmp"),
		"XDG_CACHE_HOME=" + filepath.Join(w.dir, "cache"), "WHET_STATE=" + filepath.Join(w.dir, "state"),
		"WHET_MARKET_DIR=" + filepath.Join(w.dir, "state", "market"), // a tool may install packages
		"GOTOOLCHAIN=local", "GOCACHE=" + filepath.Join(w.dir, "cache"), "GOPROXY=off", "GOTRACEBACK=all", w.mark,
	}
}

// sources are the project's plain files. Every one holds "alpha".
func sources() map[string]string {
	m := map[string]string{
		".git/HEAD":        "ref: refs/heads/main\n",
		".git/config":      "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"touch ../outside/pwned\"\n",
		".gitignore":       "ignored/\n*.log\n",
		".prettierrc.js":   "require('fs').writeFileSync('../outside/pwned', 'x')\n",
		".whet/whet.jsonc": `{"formatter": {"evil": {"command": ["sh", "-c", "touch ../outside/pwned"], "extensions": [".go"]}}}`,
		"README.md":        "# alpha\n\nA project about alpha and beta.\n",
		"src/main.go":      "package main\n\nimport \"fmt\"\n\n// alpha says so.\nfunc alpha(n int) int {\n\tif n > 1 {\n\t\treturn n * 2\n\t}\n\treturn n\n}\n\nfunc main() { fmt.Println(alpha(3)) }\n",
		"src/app.ts":       "export function alpha(x: number): number {\n  console.log(x)\n  return x + 1\n}\n\nconsole.log(alpha(1))\n",
		"src/tool.py":      "def alpha(x):\n    print(x)\n    return x\n\nprint(alpha(1))\n",
		"src/win.txt":      "alpha\r\nbeta\r\ngamma\r\n",
		"src/bytes.bin":    "alpha\x00\x01\x02\xff\xfe",
		"src/latin.txt":    "alpha caf\xe9\n",
		"src/escape.txt":   "alpha \x1b]52;c;AAAA\x07 \u202eevil\u202c \u200b\n",
		"src/long.txt":     "alpha" + strings.Repeat("aaaaaaaaab", 40000) + "\n",
		"src/$(id).go":     "package a // alpha\n",
		"src/a;b 'c\".go":  "package a // alpha\n",
		"src/-rf":          "alpha\n",
		"src/new\nline":    "alpha\n",
		"src/empty":        "",
	}
	for i := range 40 {
		var b strings.Builder
		fmt.Fprintf(&b, "package deep\n\n// alpha%d is a value.\nfunc alpha%d(x int) int {\n", i, i)
		for j := range 60 {
			fmt.Fprintf(&b, "\tx += %d // beta %d.%d\n", j*i, i, j)
		}
		b.WriteString("\treturn x\n}\n")
		m[fmt.Sprintf("src/deep/er/f%02d.go", i)] = b.String()
	}
	return m
}

// names are the paths of sources, sorted.
func names() []string { return slices.Sorted(maps.Keys(sources())) }

// furnish puts the project's files where they belong.
func (w *world) furnish() error {
	for name, text := range sources() {
		if err := w.root.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for link, to := range map[string]string{
		"out": "../outside", "out.go": "../outside/secret.go", "dangling.go": "../outside/new.go", "round": "round2", "round2": "round",
		"evil": "../my project-evil", "chain": "src/chain", "src/chain": "../out", "home": filepath.Join(w.dir, "home"), "rootfs": "/", "zero": "/dev/zero",
	} {
		if err := w.root.Symlink(to, link); err != nil {
			return err
		}
	}
	if err := syscall.Mkfifo(filepath.Join(w.project, "fifo"), 0o600); err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(w.project, "sock")})
	if err != nil {
		return nil // the path is too long for a socket: it does without
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// change does one thing to the project, as a person or another agent would.
// It never leaves the project: a link out of it is met with an error.
func (w *world) change(r *rand.Rand) {
	all := names()
	name := all[r.IntN(len(all))]
	if strings.HasPrefix(name, ".git") {
		return
	}
	switch r.IntN(9) {
	case 0:
		_ = w.root.Remove(name)
	case 1:
		_ = w.root.Rename(name, fmt.Sprintf("src/moved%d", r.IntN(20)))
	case 2: // a directory that is a link out, for a moment
		if w.root.Rename("src/deep", "src/was") == nil {
			_ = w.root.Symlink("../../outside/dir", "src/deep")
			_ = w.root.Remove("src/deep")
			_ = w.root.Rename("src/was", "src/deep")
		}
	case 3: // a file that is a link out, for a moment
		_ = w.root.Remove(name)
		_ = w.root.Symlink("../outside/victim.txt", name)
	case 4:
		if f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = fmt.Fprintf(f, "// alpha %d\n", r.IntN(1000))
			_ = f.Close()
		}
	case 5:
		_ = w.root.RemoveAll(fmt.Sprintf("src/moved%d", r.IntN(20)))
	default:
		w.restore(name)
	}
}

// restore puts one file back.
func (w *world) restore(name string) {
	_ = w.root.RemoveAll(name)
	_ = w.root.MkdirAll(filepath.Dir(name), 0o700)
	_ = w.root.WriteFile(name, []byte(sources()[name]), 0o644)
}

// look tells the state of all that must not change.
func (w *world) look() (map[string]string, error) {
	seen := map[string]string{}
	for _, d := range []string{"my project-evil", "outside", "home"} {
		err := filepath.WalkDir(filepath.Join(w.dir, d), func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			state := info.Mode().String()
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				state = fmt.Sprintf("%s %x %v", state, sha256.Sum256(b), info.ModTime())
			}
			seen[p] = state
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	top, err := os.ReadDir(w.dir)
	for _, e := range top {
		seen[filepath.Join(w.dir, e.Name())] = e.Type().String()
	}
	return seen, err
}

// changed lists what is outside of the project and isn't as it was.
func (w *world) changed() ([]string, error) {
	after, err := w.look()
	if err != nil {
		return nil, err
	}
	var diff []string
	for p, was := range w.before {
		if now := after[p]; now != was {
			diff = append(diff, fmt.Sprintf("%s: was %q, is %q", p, was, now))
		}
		delete(after, p)
	}
	for p := range after {
		diff = append(diff, p+": is new")
	}
	slices.Sort(diff)
	return diff, nil
}
