package pathflavor

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// The rows were read from Node 20's path.posix and path.win32; TestPeerNode
// reads them again where node is installed.
var (
	posix = Posix()
	win32 = Windows(func(drive string) string {
		if drive == "D:" {
			return `D:\work`
		}
		return ""
	})
)

var rows = []struct {
	f         Flavor
	dir, path string
	abs       bool
	join      string
	resolve   string
}{
	{posix, `/p`, `a`, false, `/p/a`, `/p/a`},
	{posix, `/p`, `a/`, false, `/p/a/`, `/p/a`},
	{posix, `/p`, `../x`, false, `/x`, `/x`},
	{posix, `/p`, `/abs/`, true, `/p/abs/`, `/abs`},
	{posix, `/p`, `./a/../b//c`, false, `/p/b/c`, `/p/b/c`},
	{posix, `/p`, `file.txt/`, false, `/p/file.txt/`, `/p/file.txt`},
	{posix, `/p`, `../../..`, false, `/`, `/`},
	{posix, `/p`, `.`, false, `/p`, `/p`},
	{posix, `/p`, `a b`, false, `/p/a b`, `/p/a b`},
	{posix, `/p`, ``, false, `/p`, `/p`},
	{posix, `/p/`, `x`, false, `/p/x`, `/p/x`},
	{win32, `C:\proj`, `C:foo`, false, `C:\proj\C:foo`, `C:\proj\foo`},
	{win32, `C:\proj`, `D:foo`, false, `C:\proj\D:foo`, `D:\work\foo`},
	{win32, `C:\proj`, `\foo`, true, `C:\proj\foo`, `C:\foo`},
	{win32, `C:\proj`, `/foo`, true, `C:\proj\foo`, `C:\foo`},
	{win32, `C:\proj`, `..\o\`, false, `C:\o\`, `C:\o`},
	{win32, `C:\proj`, `\\srv\sh\d`, true, `C:\proj\srv\sh\d`, `\\srv\sh\d`},
	{win32, `C:\proj`, `src`, false, `C:\proj\src`, `C:\proj\src`},
	{win32, `C:\proj`, `src/a`, false, `C:\proj\src\a`, `C:\proj\src\a`},
	{win32, `C:\proj`, `c:foo`, false, `C:\proj\c:foo`, `c:\proj\foo`},
	{win32, `C:\proj`, `C:`, false, `C:\proj\C:`, `C:\proj`},
	{win32, `C:\proj`, `C:\x`, true, `C:\proj\C:\x`, `C:\x`},
	{win32, `\\srv\sh\p`, `a`, false, `\\srv\sh\p\a`, `\\srv\sh\p\a`},
	{win32, `\\srv\sh\p`, `..\..\a`, false, `\\srv\sh\a`, `\\srv\sh\a`},
	{win32, `\\srv\sh\p`, `\a`, true, `\\srv\sh\p\a`, `\\srv\sh\a`},
	{win32, `C:\proj`, `..\x`, false, `C:\x`, `C:\x`},
	{win32, `C:\proj`, `\\srv`, true, `C:\proj\srv`, `C:\srv`},
	{win32, `C:\proj`, `\\srv\\sh`, true, `C:\proj\srv\sh`, `\\srv\sh\`},
	{win32, `C:\proj`, `D:\x\..\y\`, true, `C:\proj\D:\y\`, `D:\y`},
	{win32, `C:\`, `..`, false, `C:\`, `C:\`},
	{win32, `C:\proj`, `\\`, true, `C:\proj\`, `C:\`},
	{win32, `C:/proj`, `a/./b`, false, `C:\proj\a\b`, `C:\proj\a\b`},
	{win32, `C:\proj`, `é:x`, false, `C:\proj\é:x`, `C:\proj\é:x`},
	{win32, `C:\proj`, `//srv/sh/d/../..`, true, `C:\proj\srv`, `\\srv\sh\`},
	{win32, `C:\proj`, `C:..\..\..`, false, `C:\`, `C:\`},
	{win32, `C:\proj`, `E:foo`, false, `C:\proj\E:foo`, `E:\foo`}, // a drive without a current directory
}

func TestRows(t *testing.T) {
	for _, r := range rows {
		if got := r.f.IsAbs(r.path); got != r.abs {
			t.Errorf("IsAbs(%q) = %v, want %v (windows %v)", r.path, got, r.abs, r.f.Windows)
		}
		if got := r.f.Join(r.dir, r.path); got != r.join {
			t.Errorf("Join(%q, %q) = %q, want %q", r.dir, r.path, got, r.join)
		}
		if got := r.f.Resolve(r.dir, r.path); got != r.resolve {
			t.Errorf("Resolve(%q, %q) = %q, want %q", r.dir, r.path, got, r.resolve)
		}
	}
}

func TestPeerNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	const script = `const p = require("path")
const [flavor, dir, path] = process.argv.slice(1)
console.log(JSON.stringify([p[flavor].isAbsolute(path), p[flavor].join(dir, path), p[flavor].resolve(dir, path)]))`
	for _, r := range rows {
		flavor := "posix"
		if r.f.Windows {
			flavor = "win32"
		}
		cmd := exec.Command(node, "-e", script, "--", flavor, r.dir, r.path)
		cmd.Env = append(cmd.Environ(), `=D:=D:\work`)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("node: %v", err)
		}
		var got [3]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		want := [3]any{r.abs, r.join, r.resolve}
		if r.path == "E:foo" {
			want[2] = got[2] // Node asks the real current directory, which has no drive here
		}
		if got != want {
			t.Errorf("node %s %q %q: %q, the table has %q", flavor, r.dir, r.path, got, want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, r := range rows {
		f.Add(r.dir, r.path)
	}
	f.Fuzz(func(t *testing.T, dir, path string) {
		for _, fl := range []Flavor{posix, win32} {
			dir := fl.Resolve(fl.sep(), dir)
			got := fl.Resolve(dir, path)
			if !fl.IsAbs(got) {
				t.Errorf("Resolve(%q, %q) = %q is not absolute", dir, path, got)
			}
			if again := fl.Resolve(dir, got); again != got {
				t.Errorf("Resolve(%q, %q) = %q resolves again to %q", dir, path, got, again)
			}
		}
	})
}
