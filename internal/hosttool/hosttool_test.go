package hosttool_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/hosttool"
)

func TestTable(t *testing.T) {
	table := hosttool.Table{
		"Edit":  {Name: "edit", PathArg: "file_path", Edits: true},
		"patch": {Name: "apply_patch", PatchArg: "patchText", Edits: true},
		"Grep":  {Name: "grep", PathArg: "path"},
	}
	dir := t.TempDir()
	abs := filepath.Join(dir, "elsewhere", "b.go")
	for _, c := range []struct {
		tool, args, name, path string
		edited                 []string
	}{
		{"Edit", `{"file_path":"sub/a.go"}`, "edit", "sub/a.go", []string{filepath.Join(dir, "sub", "a.go")}},
		{"Edit", `{"filePath":"a.go"}`, "edit", "a.go", []string{filepath.Join(dir, "a.go")}},
		{"Edit", `{}`, "edit", "", nil},
		{"Edit", `not json`, "edit", "", nil},
		{"Grep", `{"path":"src"}`, "grep", "src", nil},
		{"Other", `{"path":"src"}`, "Other", "", nil},
		{"patch", text(t, "*** Begin Patch\n*** Add File: a.go\n+x\n*** Update File: old.go\n*** Move to: "+abs+"\n@@\n*** Delete File: gone.go\n*** End Patch"), "apply_patch", "", []string{filepath.Join(dir, "a.go"), abs}},
		{"patch", text(t, "*** Move to: lost.go\r\n*** Update File: \r\n"), "apply_patch", "", []string{filepath.Join(dir, "lost.go")}},
	} {
		call := &whet.Call{Tool: c.tool, Args: json.RawMessage(c.args), Session: whet.Session{Dir: dir}}
		table.Name(call)
		if call.Tool != c.name || call.Path != c.path {
			t.Errorf("%s %s: %s at %q, want %s at %q", c.tool, c.args, call.Tool, call.Path, c.name, c.path)
		}
		if diff := cmp.Diff(c.edited, table[c.tool].Edited(call)); diff != "" {
			t.Errorf("%s %s: edited (-want +got)\n%s", c.tool, c.args, diff)
		}
	}
}

func text(t *testing.T, patch string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"patchText": patch})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
