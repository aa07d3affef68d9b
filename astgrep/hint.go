package astgrep

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
)

// explain says what to do about a pattern that the engine refuses.
func (s *searcher) explain(ctx context.Context, why string) string {
	q := quote(s.q.Pattern)
	switch {
	case strings.Contains(why, "Multiple AST nodes"):
		text := fmt.Sprintf("the pattern %s is not one complete node of %s", q, s.lang.name)
		if parts := s.parts(ctx); parts != "" {
			text += ": it is read as " + parts
		}
		return text + ". Search for one of them, or write the whole code around it as the pattern and name the kind of the node that is meant as selector (whet ast tree shows the kinds)"
	case strings.Contains(why, "No AST root"):
		return fmt.Sprintf("the pattern %s is no code of %s; write a complete expression, statement or declaration", q, s.lang.name)
	case strings.Contains(why, "Standalone multi"):
		return fmt.Sprintf("the pattern %s alone would match everything; use $NAME for one node, or put it into something, as in f($$$ARGS)", q)
	case strings.Contains(why, "selector") || strings.Contains(why, "Kind"):
		return fmt.Sprintf("the selector %s is no kind of a node in the pattern %s (%s); the kinds are shown by: whet ast tree -l %s PATTERN", quote(s.q.Selector), q, escape.Text(why), s.lang.name)
	}
	return fmt.Sprintf("ast-grep can't read the pattern %s: %s", q, escape.Text(why))
}

// parts names the nodes that the pattern falls into.
func (s *searcher) parts(ctx context.Context) string {
	args := []string{"run", "--lang=" + s.lang.name, "--pattern=" + s.q.Pattern, "--debug-query=ast", "--color=never", "--", s.config()}
	text, err := s.workspace.run(ctx, nil, args...)
	if e, ok := err.(*engineError); ok {
		text = e.text
	}
	_, text, _ = strings.Cut(text, "Debug AST:\n")
	var kinds []string
	for line := range strings.Lines(text) {
		if kind, ok := strings.CutPrefix(line, "  "); ok && !strings.HasPrefix(kind, " ") {
			kinds = append(kinds, strings.Fields(kind)[0])
		}
	}
	const most = 6
	if len(kinds) > most {
		kinds = append(kinds[:most], "...")
	}
	return strings.Join(kinds, ", ")
}

// hint says why a pattern may have found nothing; "" if nothing about it looks
// wrong.
func (s *searcher) hint(f *finding) string {
	p := strings.TrimSpace(s.q.Pattern)
	match := func(re string) bool { return regexp.MustCompile(re).MatchString(p) }
	switch {
	case f.reason != "":
		return ""
	case f.seen == 0:
		return fmt.Sprintf("Hint: there are no %s files there (they end in .%s; ignored files don't count). Check lang, paths and globs.", s.lang.name, strings.Join(s.lang.exts, ", ."))
	case s.lang.name == "python" && match(`^(class|def|async\s+def)\b.*:$`):
		return fmt.Sprintf("Hint: leave the colon at the end away, or give a body: %s $$$BODY", escape.Text(p))
	case (s.lang.name == "javascript" || s.lang.name == "typescript" || s.lang.name == "tsx") && isBareFunction(p):
		return fmt.Sprintf("Hint: a function needs parameters and a body: %s($$$PARAMS) { $$$BODY }", escape.Text(p))
	case f.warned:
		return fmt.Sprintf("Hint: the pattern is not valid %s: a part of it could not be parsed, so it can hardly match. Write complete code, with $NAME in place of a whole node; whet ast tree shows how it is read.", s.lang.name)
	case match(`\$[a-z]`) && s.lang.name != "php" && s.lang.name != "bash":
		return "Hint: the name of a meta-variable is in upper case: $NAME, not $name."
	case match(`["'][^"']*[^"'$]\$[A-Z_][^"']*["']|["']\$[A-Z_]+[^"'A-Z_0-9][^"']*["']`):
		return "Hint: a meta-variable stands for a whole node, not for a part of a string: use $NAME in place of the whole string, and a rule with regex to look into it."
	}
	return ""
}
