//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet/internal/scriptmodel"
)

// use is a step that calls one tool.
func use(tool string, args any) scriptmodel.Step {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return scriptmodel.Step{Calls: []scriptmodel.Call{{Name: tool, Args: b}}}
}

func say(text string) scriptmodel.Step { return scriptmodel.Step{Text: text} }

type args = map[string]any

func repeat(n int, s scriptmodel.Step) (out []scriptmodel.Step) {
	for range n {
		out = append(out, s)
	}
	return out
}

// openCodeScript is what the model does in OpenCode; dir is the home, page the
// address of a web server.
func openCodeScript(dir, page string) scriptmodel.Script {
	ws := filepath.Join(dir, "my project")
	in := func(name string) string { return filepath.Join(ws, name) }
	script := scriptmodel.Script{
		"paths": {
			use("grep", args{"pattern": "x", "path": "no/such"}),
			use("glob", args{"pattern": "*.go", "path": in("nowhere")}),
			use("grep", args{"pattern": "alpha", "path": in("src")}),
			say("done"),
		},
		"loop":   append(repeat(6, use("grep", args{"pattern": "alpha", "path": in("src")})), say("done")),
		"errors": append(repeat(4, use("read", args{"filePath": in("not-there.txt")})), say("done")),
		"format": {
			use("write", args{"filePath": in("a.go"), "content": "package a\nfunc  f( ) {   }\n"}),
			say("done"),
		},
		"rescue": {
			use("apply_patch", args{"patchText": stale}),
			use("apply_patch", args{"patchText": outside(dir)}),
			say("done"),
		},
		"fetch": {
			use("webfetch", args{"url": page + "/root"}),
			use("task", args{"description": "look", "prompt": "[[script:fetch-child]] look", "subagent_type": "general", "background": false}),
			say("done"),
		},
		"fetch-child": {use("webfetch", args{"url": page + "/child", "find": "worth"}), say("child done")},
		// Of a server beside whet's own.
		"mcp":     append(repeat(3, use("other_grep", args{"pattern": "alpha", "path": in("src")})), say("done")),
		"read":    {use("read", args{"filePath": "src/a.txt"}), say("done")},
		"missing": {use("grep", args{"pattern": "x", "path": "no/such"}), say("done")},
	}
	maps.Copy(script, marketScript)
	return script
}

func TestPeerOpenCodePaths(t *testing.T) {
	s := theServe(t)
	s.write("src/a.txt", "alpha\nbeta\n")
	_, parts := s.prompt(t, "", "plain", "paths")
	if len(parts) != 3 {
		t.Fatalf("%d calls, want 3: %+v", len(parts), parts)
	}
	for i, want := range []string{"Search path does not exist: " + filepath.Join(s.ws, "no/such"), "Search path does not exist: " + filepath.Join(s.ws, "nowhere")} {
		if parts[i].State.Status != "error" || !strings.HasPrefix(parts[i].State.Error, want) {
			t.Errorf("call %d: %+v, want the error %s", i, parts[i].State, want)
		}
	}
	wants(t, parts[2].State.Output, "a.txt")
}

func TestPeerOpenCodeLoop(t *testing.T) {
	s := theServe(t)
	s.write("src/a.txt", "alpha\nbeta\n")
	session, parts := s.prompt(t, "", "plain", "loop")
	if len(parts) != 6 {
		t.Fatalf("%d calls, want 6", len(parts))
	}
	lacks(t, parts[1].State.Output, "LOOP GUARD")
	for i := 2; i < 5; i++ {
		wants(t, parts[i].State.Output, fmt.Sprintf("the same result %d times", i+1))
	}
	if parts[5].State.Status != "error" {
		t.Errorf("the sixth call: %+v, want a refusal", parts[5].State)
	}
	wants(t, parts[5].State.Error, "refused: grep gave the same result 5 times")
	// A person's word resets the count.
	_, parts = s.prompt(t, session, "plain", "loop")
	if len(parts) != 12 || parts[6].State.Status != "completed" || parts[11].State.Status != "error" {
		t.Errorf("after a prompt: %+v", parts[6:])
	}
}

// A tool that throws has no "after" in this host: its errors count by events,
// and the notice reaches the model with the error.
func TestPeerOpenCodeErrorLoop(t *testing.T) {
	s := theServe(t)
	_, parts := s.prompt(t, "", "plain", "errors")
	if len(parts) != 4 || parts[3].State.Status != "error" {
		t.Fatalf("got %+v, want four errors", parts)
	}
	wants(t, last(t, s.model, "errors"), "the same result 3 times", "the same result 4 times")
}

func TestPeerOpenCodeFormat(t *testing.T) {
	s := theServe(t)
	_, parts := s.prompt(t, "", "plain", "format")
	if len(parts) != 1 {
		t.Fatalf("%d calls, want 1", len(parts))
	}
	wants(t, parts[0].State.Output, "[format] a.go: gofmt changed lines")
	if got := s.read("a.go"); got != "package a\n\nfunc f() {}\n" {
		t.Errorf("a.go is %q", got)
	}
}

// outside is a patch that leaves the project.
func outside(dir string) string {
	return "*** Begin Patch\n*** Add File: " + filepath.Join(dir, "outside.txt") + "\n+x\n*** End Patch"
}

// The rewritten arguments reach the host's own tool: see the reference plugin
// for how they don't.
func TestPeerOpenCodeRescue(t *testing.T) {
	s := theServe(t)
	s.write("s.txt", moved)
	_, parts := s.prompt(t, "", "gpt-5-scripted", "rescue")
	if len(parts) != 2 {
		t.Fatalf("%d calls, want 2", len(parts))
	}
	if got := parts[0].State; got.Status != "completed" {
		t.Errorf("the stale patch: %+v", got)
	}
	wants(t, parts[0].State.Output, "[whet] the patch did not fit the files exactly")
	if got := s.read("s.txt"); got != "start of block\n  middle v3 line\nend of block\n" {
		t.Errorf("s.txt is %q", got)
	}
	if got := parts[1].State; got.Status != "error" {
		t.Errorf("the patch that leaves the project: %+v", got)
	}
	wants(t, parts[1].State.Error, "outside")
	if _, err := os.Stat(filepath.Join(s.dir, "outside.txt")); err == nil {
		t.Error("outside.txt was written")
	}
}

// Whet's webfetch takes the place of the built-in one, in the root session and
// in a sub-agent's.
func TestPeerOpenCodeWebfetch(t *testing.T) {
	s := theServe(t)
	_, parts := s.prompt(t, "", "plain", "fetch")
	if len(parts) != 2 || parts[0].State.Status != "completed" || parts[1].State.Status != "completed" {
		t.Fatalf("got %+v", parts)
	}
	wants(t, parts[0].State.Output, "# The page", "/root of **text** that says")
	lacks(t, parts[0].State.Output, "MENU")
	child := last(t, s.model, "fetch-child")
	wants(t, child, "# The page", "/child of **text** that says")
	lacks(t, child, "MENU")
	for _, scenario := range []string{"fetch", "fetch-child"} {
		body := asked(s.model, scenario)
		wants(t, body[len(body)-1], `"prefer_llms_txt"`, `"required":["url"]`) // our schema, and no other
	}
}

// Another server's tools are watched too; this host gives their results in
// another shape than its own.
func TestPeerOpenCodeOtherMCP(t *testing.T) {
	s := theServe(t)
	s.write("src/a.txt", "alpha\n")
	_, parts := s.prompt(t, "", "plain", "mcp")
	if len(parts) != 3 || parts[2].State.Status != "completed" {
		t.Fatalf("got %+v", parts)
	}
	lacks(t, parts[1].State.Output, "LOOP GUARD")
	wants(t, parts[2].State.Output, "This other_grep call has now given the same result 3 times")
}
