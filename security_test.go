package whet_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that the page of promises names is there, in the file that it
// links to.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\[((?:Test|Fuzz)\w+|[\w-]+\.txtar)\]\(\.\./([^)]+)\)`).FindAllStringSubmatch(string(page), -1)
	if len(links) < 80 {
		t.Errorf("%d tests are named, want at least 80", len(links))
	}
	for _, l := range links {
		name, file := l[1], filepath.FromSlash(l[2])
		text, err := os.ReadFile(file)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case strings.HasSuffix(name, ".txtar"):
			if filepath.Base(file) != name {
				t.Errorf("%s links to %s", name, file)
			}
		case !strings.Contains(string(text), "\nfunc "+name+"("):
			t.Errorf("%s is not in %s", name, file)
		}
	}
	for n, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, " | ")
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| promise ") && strings.Contains(line, "](../") && !strings.Contains(cells[len(cells)-1], "](../") {
			t.Errorf("line %d: the promise has no test", n+1)
		}
	}
	security, err := os.ReadFile("SECURITY.md")
	if err != nil || !strings.Contains(string(security), "(docs/security.md)") {
		t.Errorf("SECURITY.md doesn't link to docs/security.md: %v", err)
	}
}
