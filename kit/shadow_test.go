package kit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
)

// A model writes a file, the file is formatted, and the model's next patch
// still has the text that it wrote itself: it lands all the same.
func TestPatchAgainstTheTextBeforeFormatting(t *testing.T) {
	t.Setenv("WHET_STATE", t.TempDir())
	dir := t.TempDir()
	k := full()
	s := whet.Session{ID: "s", Host: "cli", Dir: dir, Worktree: dir, Store: state.Memory()}
	patch := func(text string) *whet.Result {
		t.Helper()
		args, err := json.Marshal(map[string]string{"patch": text})
		if err != nil {
			t.Fatal(err)
		}
		r, err := k.Call(t.Context(), &whet.Call{Tool: "apply_patch", Args: args, Session: s})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	read := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "a.go"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	r := patch("*** Begin Patch\n*** Add File: a.go\n+package a\n+\n+func F(  ) int { if true { return   1 }\n+return 2 }\n+func G(  ) {   }\n*** End Patch")
	const formatted = "package a\n\nfunc F() int {\n\tif true {\n\t\treturn 1\n\t}\n\treturn 2\n}\nfunc G() {}\n"
	if r.Failed || read() != formatted {
		t.Fatalf("the first patch: %+v\n%s", r, read())
	}
	r = patch("*** Begin Patch\n*** Update File: a.go\n@@\n func F(  ) int { if true { return   1 }\n-return 2 }\n+return 3 }\n func G(  ) {   }\n*** End Patch")
	const want = "package a\n\nfunc F() int {\n\tif true {\n\t\treturn 1\n\t}\n\treturn 3\n}\nfunc G() {}\n"
	if r.Failed || read() != want {
		t.Errorf("the second patch: %s\n got %s\nwant %s", r.Text, read(), want)
	}
	// A patch that fits neither text is refused as ever.
	if r = patch("*** Begin Patch\n*** Update File: a.go\n@@\n-return 77 }\n+return 3 }\n*** End Patch"); !r.Failed || read() != want {
		t.Errorf("a patch that fits nowhere: %+v\n%s", r, read())
	}
}
