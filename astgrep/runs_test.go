package astgrep

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whet-dev/whet/internal/peer"
)

// counted is the real engine behind a script that writes down what it is run for.
func counted(t *testing.T) (e Engine, runs func() string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the script is for a shell")
	}
	log := filepath.Join(t.TempDir(), "log")
	script := fmt.Sprintf(`case "$*" in *--debug-query*) echo read;; *) echo search;; esac >>%s; exec %s "$@"`, log, peer.Find(t, "ast-grep"))
	return Engine{Path: program(t, t.TempDir(), "ast-grep", script)}, func() string {
		b, err := os.ReadFile(log)
		if err != nil {
			return ""
		}
		_ = os.Remove(log)
		return fmt.Sprintf("%d read, %d search", strings.Count(string(b), "read"), strings.Count(string(b), "search"))
	}
}

// How often the engine runs for a search: what one run decides is not asked
// again.
func TestRuns(t *testing.T) {
	e, runs := counted(t)
	dir := tree(t, map[string]string{
		"a.go": "package a\n\nfunc f() error { g(1); return errors.New(\"x\") }\n",
		"b.go": "package a\n\nvar v = []byte(\"x\")\n",
	})
	for _, c := range []struct {
		pattern string
		total   int
		note    string // in the answer
		runs    string
	}{
		{"g($A)", 1, "", "1 read, 1 search"},
		{"$F($A)", 2, "", "1 read, 1 search"},
		{"[]byte($A)", 1, "", "1 read, 1 search"},
		{"errors.New($A)", 1, `the pattern alone is a type conversion; it was read as a call_expression, as in "func t() { errors.New($A) }"`, "2 read, 1 search"},
		{"nowhere.New($A)", 0, "", "7 read, 0 search"},
		{"errors.New($A, $B)", 0, "", "6 read, 1 search"},
	} {
		a, err := Search(t.Context(), e, Query{Dir: dir, Lang: "go", Pattern: c.pattern})
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if a.Total != c.total || !strings.Contains(a.String(), c.note) || c.note == "" && strings.Contains(a.String(), "was read as") {
			t.Errorf("%s: %d matches, want %d; %s", c.pattern, a.Total, c.total, a)
		}
		if a.Searched != 2 {
			t.Errorf("%s: %d files searched, want 2", c.pattern, a.Searched)
		}
		if got := runs(); got != c.runs {
			t.Errorf("%s: %s; want %s", c.pattern, got, c.runs)
		}
	}
}

func TestHasWord(t *testing.T) {
	for pattern, want := range map[string]bool{
		"$F($A)": false, "$A = $B": false, "a + $B": false, "$$$A": false, "": false, "$A.x($B)": false,
		"ab($A)": true, "$A.if": true, "x1": true, "é": true, "f($ABC, $A)": false, "if ($A) { }": true,
	} {
		if got := hasWord(pattern); got != want {
			t.Errorf("%q: got %v", pattern, got)
		}
	}
}
