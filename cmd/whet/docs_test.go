package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
)

// pages returns the texts of the project's pages by their slash-separated path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	names, err := fs.Glob(root, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		more, err := fs.Glob(root, pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, more...)
	}
	out := map[string]string{}
	for _, name := range names {
		b, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = strings.ReplaceAll(string(b), "\r\n", "\n")
	}
	if len(out) < 20 {
		t.Fatalf("only %d pages", len(out))
	}
	return out
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Every link between pages leads to a file, and to a heading if it names one;
// every page of docs can be reached from the README.
func TestLinks(t *testing.T) {
	all := pages(t)
	next := map[string][]string{}
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(withoutFences(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), file))
			}
			next[name] = append(next[name], target)
			if _, err := os.Stat(filepath.Join("..", "..", target)); err != nil {
				t.Errorf("%s: link to %s: there is no such file", name, m[1])
			} else if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s: link to %s: there is no such heading", name, m[1])
			}
		}
	}
	seen, queue := map[string]bool{}, []string{"README.md"}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if !seen[at] {
			seen[at] = true
			queue = append(queue, next[at]...)
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !seen[name] {
			t.Errorf("%s: no link leads there from the README", name)
		}
	}
}

var fence = regexp.MustCompile("(?ms)^(```+).*?^```+$")

func withoutFences(text string) string { return fence.ReplaceAllString(text, "") }

// anchors are the names that GitHub gives the headings of a page.
func anchors(text string) (out []string) {
	for line := range strings.Lines(withoutFences(text)) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title)))
	}
	return out
}

var (
	span = regexp.MustCompile("`([^`\n]+)`")
	// A command line of whet: at the beginning, or after a prompt, a pipe or a variable.
	called = regexp.MustCompile(`(?:^|[|$&] |"|[A-Z_]+=\S+ )whet ([^|;&#]*)`)
	word   = regexp.MustCompile(`^[a-z-]+$`)
	flag   = regexp.MustCompile(`^(--[a-z-]+|-[a-zA-Z0-9])(?:=.*)?$`)
)

// Every command line of whet in a page's code names a command that exists, with
// flags that it has.
func TestCommandsInPages(t *testing.T) {
	n := 0
	for name, text := range pages(t) {
		for _, code := range codeOf(text) {
			for _, m := range called.FindAllStringSubmatch(code, -1) {
				n++
				if problem := wrongCommand(m[1]); problem != "" {
					t.Errorf("%s: whet %s: %s", name, m[1], problem)
				}
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d command lines were found", n)
	}
	for _, c := range everyCommand(root()) {
		for _, line := range strings.Split(c.Example, "\n") {
			for _, m := range called.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
				if problem := wrongCommand(m[1]); problem != "" {
					t.Errorf("%s --help: whet %s: %s", c.CommandPath(), m[1], problem)
				}
			}
		}
	}
	for line, want := range map[string]string{
		"grpe x":               "no such command: grpe",
		"market instal x":      "no such command: instal",
		"task list --jsno":     "no such flag: --jsno",
		"grep -l TODO --json":  "",
		"patch check":          "",
		"serve --web":          "",
		"market trust a --all": "no such flag: --all",
		"run --model X \"y\"":  "",
	} {
		if got := wrongCommand(line); got != want {
			t.Errorf("whet %s: %q, want %q", line, got, want)
		}
	}
}

func everyCommand(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		out = append(out, everyCommand(sub)...)
	}
	return out
}

// codeOf returns the lines of code in a page, and what stands in backquotes.
func codeOf(text string) (out []string) {
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			in = !in
		case in, strings.HasPrefix(line, "    "):
			out = append(out, strings.TrimSpace(line))
		default:
			for _, m := range span.FindAllStringSubmatch(line, -1) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// wrongCommand says what is wrong with the arguments of a command line, or "".
func wrongCommand(line string) string {
	line, _, _ = strings.Cut(line, "'")
	line, _, _ = strings.Cut(line, `"`)
	line, _, _ = strings.Cut(line, "   ") // what follows says what it does
	c := root()
	c.InitDefaultHelpCmd()
	c.InitDefaultCompletionCmd()
	for _, w := range strings.Fields(line) {
		w = strings.Trim(w, "[],.:)")
		if c.HasAvailableSubCommands() && !strings.HasPrefix(w, "-") {
			if !word.MatchString(w) {
				return ""
			}
			i := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.Name() == w })
			if i < 0 {
				return "no such command: " + w
			}
			c = c.Commands()[i]
			c.InitDefaultHelpFlag()
			continue
		}
		if m := flag.FindStringSubmatch(w); m != nil && c.Flag(strings.TrimLeft(m[1], "-")) == nil &&
			(strings.HasPrefix(m[1], "--") || c.Flags().ShorthandLookup(m[1][1:]) == nil) {
			return "no such flag: " + m[1]
		}
	}
	return ""
}
