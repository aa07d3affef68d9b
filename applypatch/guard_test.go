package applypatch_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/applypatch"
	"github.com/whet-dev/whet/internal/state"
)

func call(dir, host, tool, arg, patch string) *whet.Call {
	args, _ := json.Marshal(map[string]any{arg: patch, "other": 1})
	return &whet.Call{ID: "1", Tool: tool, Args: args, Session: whet.Session{Host: host, Dir: dir, Store: state.Memory()}}
}

func TestGuard(t *testing.T) {
	stale := body("*** Update File: f\n@@\n zero\n alpha\n-beta\n+B\n gamma")
	for _, tt := range []struct {
		id, host, tool, arg, patch string
		opt                        applypatch.Options
		want                       string // part of the new patch; "" if unchanged
		refused                    string // part of the refusal
	}{
		{id: "rescued", host: "codex", tool: "apply_patch", arg: "command", patch: stale, want: "\n alpha\n-beta\n+B\n gamma\n"},
		{id: "opencode", host: "opencode", tool: "apply_patch", arg: "patchText", patch: stale, want: "\n alpha\n-beta\n+B\n gamma\n"},
		{id: "newest opencode", host: "opencode", tool: "patch", arg: "patchText", patch: stale, want: "\n alpha\n-beta\n+B\n gamma\n"},
		{id: "unknown host", host: "x", tool: "apply_patch", arg: "input", patch: stale, want: "\n alpha\n-beta\n+B\n gamma\n"},
		{id: "fits", host: "codex", tool: "apply_patch", arg: "command", patch: body("*** Update File: f\n@@\n alpha\n-beta\n+B")},
		{id: "our own tool", host: "mcp", tool: "apply_patch", arg: "patch", patch: stale},
		{id: "another tool", host: "codex", tool: "read", arg: "command", patch: stale},
		{id: "another patch tool", host: "x", tool: "patch", arg: "input", patch: "fix the hole"},
		{id: "no patch", host: "codex", tool: "apply_patch", arg: "x", patch: "y"},
		{id: "unsure", host: "codex", tool: "apply_patch", arg: "command", patch: body("*** Update File: g\n@@\n-x\n+y"), refused: "ambiguous: 2 places"},
		{id: "cut short", host: "codex", tool: "apply_patch", arg: "command", patch: "*** Begin Patch\n*** Update File: f", refused: "missing_end"},
		{id: "outside", host: "codex", tool: "apply_patch", arg: "command", patch: body("*** Add File: ../x\n+x"), refused: "outside_workspace"},
		{id: "outside, deferred", host: "codex", tool: "apply_patch", arg: "command", patch: body("*** Add File: ../x\n+x"), opt: applypatch.Options{Outside: "defer"}},
		{id: "nothing to do", host: "codex", tool: "apply_patch", arg: "command", patch: body("*** Update File: f\n@@\n-beta\n+beta")},
		{id: "absolute", host: "codex", tool: "apply_patch", arg: "command", patch: body("*** Update File: DIR/f\n@@\n-beta\n+B"), want: "*** Update File: f\n"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, files{"f": "alpha\nbeta\ngamma\n", "g": "x\ny\nx\n"})
			c := call(dir, tt.host, tt.tool, tt.arg, strings.ReplaceAll(tt.patch, "DIR", dir))
			before := string(c.Args)
			err := applypatch.Guard(tt.opt).Before(t.Context(), c)
			refusal := (*whet.Refusal)(nil)
			switch {
			case tt.refused != "":
				if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, tt.refused) {
					t.Errorf("got %v, want a refusal with %q", err, tt.refused)
				}
			case err != nil:
				t.Fatal(err)
			case tt.want == "":
				if string(c.Args) != before {
					t.Errorf("changed to %s", c.Args)
				}
			default:
				if got := whet.StringArg(c.Args, tt.arg); !strings.Contains(got, tt.want) {
					t.Errorf("got %q, want %q in it", got, tt.want)
				}
				if !strings.Contains(string(c.Args), `"other":1`) {
					t.Errorf("the other arguments are lost: %s", c.Args)
				}
			}
		})
	}
}

// TestGuardRepairs plays a host that writes a final newline which the file
// didn't have.
func TestGuardRepairs(t *testing.T) {
	for _, tt := range []struct{ id, host, want string }{
		{"as the host's applier does", "alpha\nbeta\nB\n", "alpha\nbeta\nB"},
		{"formatted meanwhile", "alpha;\nB;\n", "alpha;\nB;\n"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, files{"f": "alpha\nbeta\ngamma"})
			c := call(dir, "codex", "apply_patch", "command", body("*** Update File: f\n@@\n zero\n alpha\n beta\n-gamma\n+B"))
			g := applypatch.Guard(applypatch.Options{})
			must(t, g.Before(t.Context(), c))
			write(t, dir, files{"f": tt.host})
			r := &whet.Result{Text: "done"}
			must(t, g.After(t.Context(), c, r))
			b, err := os.ReadFile(filepath.Join(dir, "f"))
			must(t, err)
			if string(b) != tt.want {
				t.Errorf("got %q, want %q", b, tt.want)
			}
			if !strings.Contains(r.Text, "was adapted") {
				t.Errorf("the model isn't told: %q", r.Text)
			}
		})
	}
}

// TestReport pins what the model reads of a refusal.
func TestReport(t *testing.T) {
	r := try(t, files{"f": "func load() {\n\tb := os.ReadFile(p)\n\tif b == nil {\n\t\treturn\n\t}\n\tuse(b)\n}\n"},
		wrap("@@| func load() {|     b := os.ReadFile(p)|-    if b != nil {|+    if b == nil && x {|         return|     }"), applypatch.Options{Stale: applypatch.StaleRefuse})
	want := `apply_patch: not applied (no files changed). f, chunk 1 of 1 (patch line 4): not_found: the file doesn't have these lines as the patch has them
closest place: lines 1-5 (1 of 5 lines match)
     1   func load() {
     2 ! 	b := os.ReadFile(p)
     3   	if b == nil {
patch has here:     b := os.ReadFile(p)
difference: indentation: the patch has 4 spaces, the file 1 tab
fix: re-read f lines 1-7 and resend this chunk.`
	if r.err == nil || r.err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", r.err, want)
	}
}

// TestGuardOtherEncoding: behind a host that would damage bytes it can't read
// the patch is refused; our own tool keeps them.
func TestGuardOtherEncoding(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"f": "caf\xe9\nb\n"})
	patch := body("*** Update File: f\n@@\n-b\n+B")
	err := applypatch.Guard(applypatch.Options{}).Before(t.Context(), call(dir, "opencode", "apply_patch", "patchText", patch))
	if err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("got %v", err)
	}
	if r := tryIn(t, dir, patch, applypatch.Options{}); r.err != nil || r.files["f"] != "caf\xe9\nB\n" {
		t.Errorf("got %q, %v", r.files["f"], r.err)
	}
}
