package format

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table in docs/format.md is made from the rows.
func TestPage(t *testing.T) {
	const page = "../docs/format.md"
	const begin, end = "<!-- formatters: made from format/table.go; WHET_UPDATE=1 go test ./format -->\n", "<!-- end of formatters -->\n"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no table: it wants the lines %q and %q", page, begin, end)
	}
	want := head + begin + "\n" + markdown() + "\n" + end + tail
	if want == string(b) {
		return
	}
	if os.Getenv("WHET_UPDATE") == "" {
		t.Fatalf("%s is stale; run WHET_UPDATE=1 go test ./format\n%s", page, cmp.Diff(want, string(b)))
	}
	if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
		t.Fatal(err)
	}
}

func markdown() string {
	var b strings.Builder
	b.WriteString("| formatter | files | runs if the project has | how |\n|---|---|---|---|\n")
	for _, r := range table {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.name, r.exts, wanted(r), how(r))
	}
	return b.String()
}

// wanted says what makes the formatter run, in words. The many names of one
// program's configuration are told by the first.
func wanted(r row) string {
	var said []string
	for _, m := range strings.Fields(r.configs) {
		name, text, cut := m, "", false
		if i := strings.IndexAny(m[1:], "~#"); i >= 0 {
			name, text, cut = m[:i+1], m[i+2:], true
		}
		if cut {
			said = append(said, fmt.Sprintf("`%s` with `%s`", name, text))
		} else {
			said = append(said, "`"+name+"`")
		}
	}
	const most = 4
	if len(said) > most {
		said = append(said[:most], "or another of its files")
	}
	for _, m := range strings.Fields(r.deps) {
		i := strings.IndexAny(m[1:], "~@")
		said = append(said, fmt.Sprintf("`%s` in `%s`", m[i+2:], m[:i+1]))
	}
	if r.name == "shfmt" {
		return "`.editorconfig` that says how to indent the file"
	}
	if r.always {
		return "nothing: its language has one formatter"
	}
	return strings.Join(said, ", ")
}

func how(r row) string {
	if r.inside != nil {
		return "inside whet"
	}
	args := r.args
	if r.more != nil {
		args = append(args[:len(args):len(args)], "…")
	}
	return "`" + strings.Join(append(strings.Fields(r.program)[:1], args...), " ") + "`"
}

// Every row can run, and is found by what it says.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range table {
		if seen[r.name] {
			t.Errorf("%s is there twice", r.name)
		}
		seen[r.name] = true
		if r.exts == "" || (r.program == "") == (r.inside == nil) {
			t.Errorf("%s needs endings, and either a program or to run inside whet", r.name)
		}
		if r.configs == "" && r.deps == "" && !r.always {
			t.Errorf("%s never runs", r.name)
		}
		for _, reserved := range []string{"enabled", "scope", "timeoutMs", "ignore", "prefer"} {
			if r.name == reserved {
				t.Errorf("%s is an option's name", r.name)
			}
		}
		if strings.Contains(r.exts, "..") || strings.ToLower(r.exts) != r.exts {
			t.Errorf("%s: endings are lower case: %s", r.name, r.exts)
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d formatters", len(seen))
	}
}
