package format

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// What a repository has configured to be run isn't run to see what was
// committed.
func TestCommittedRunsNothing(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no git, or no shell for what it would run")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@example.test"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	write("a.txt", "committed\n")
	run("add", ".")
	run("commit", "-qm", "first")
	write(".gitattributes", "*.txt filter=evil diff=evil\n")
	write("a.txt", "changed\n")
	ran := filepath.Join(dir, "ran")
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "core.askPass", "filter.evil.smudge", "filter.evil.clean", "diff.evil.textconv", "diff.evil.command", "diff.external", "alias.cat-file"} {
		value := "touch '" + ran + "'"
		if key == "alias.cat-file" {
			value = "!" + value
		}
		run("config", key, value)
	}
	text, ok := Committed(t.Context(), filepath.Join(dir, "a.txt"))
	if string(text) != "committed\n" || !ok {
		t.Errorf("%q, %v", text, ok)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository's configuration has run")
	}
}
