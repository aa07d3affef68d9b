package astgrep

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The forms in which [Tree] shows code.
const (
	TreePattern = "pattern" // as a pattern is read
	TreeNamed   = "ast"     // named nodes, with their places
	TreeAll     = "cst"     // brackets and keywords too
)

// Tree returns the syntax tree of code, which is how one learns what kinds its
// nodes are and how a pattern is read.
func Tree(ctx context.Context, e Engine, lang, code, form, dir string) (string, error) {
	l, err := findLanguage(lang)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(code) == "":
		return "", errors.New("there is no code to show the tree of")
	case len(code) > maxPattern || strings.Contains(code, "\x00"):
		return "", fmt.Errorf("the code is longer than %d bytes or has a NUL byte; give the part that matters", maxPattern)
	}
	w, err := open(e, dir, defaultTimeout)
	if err != nil {
		return "", err
	}
	defer w.close()
	text, err := w.run(ctx, nil, "run", "--lang="+l.name, "--pattern="+code, "--debug-query="+form, "--color=never", "--", w.config())
	if ee := (*engineError)(nil); errors.As(err, &ee) && form != TreePattern {
		text, err = ee.text, nil // several nodes are no pattern, and still a tree
	}
	if err != nil {
		return "", err
	}
	head, tree, ok := strings.Cut(text, ":\n")
	if !ok || !strings.HasPrefix(strings.TrimSpace(head), "Debug ") {
		return "", fmt.Errorf("ast-grep printed no tree: %s", brief(text, 300))
	}
	for _, after := range []string{"\nWarning: ", "\nError: "} {
		if i := strings.LastIndex(tree, after); i >= 0 {
			tree = tree[:i]
		}
	}
	return strings.TrimRight(tree, "\n") + "\n", nil
}
