package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/escape"
)

// An asker puts the agent's wishes to the person at the terminal.
type asker struct {
	in  io.Reader
	out io.Writer

	mu     sync.Mutex // one question at a time
	lines  chan string
	always map[string]bool
}

// ask asks. No answer is a no.
func (a *asker) ask(ctx context.Context, p whet.Permission) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.always[p.Action] {
		return nil
	}
	fmt.Fprintf(a.out, "\nThe agent wants to use %s%s:\n  %s\n", p.Action, because(p.Reason),
		strings.ReplaceAll(escape.Lines(p.Subject), "\n", "\n  "))
	for {
		fmt.Fprintf(a.out, "Allow it? [y]es, [n]o, [a]lways %s in this run: ", p.Action)
		answer, err := a.line(ctx)
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		case "a", "always":
			if a.always == nil {
				a.always = map[string]bool{}
			}
			a.always[p.Action] = true
			return nil
		case "n", "no", "":
			return whet.Refuse("refused: the person said no to %s %q; do it another way, or say what is needed", p.Action, p.Subject)
		}
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + escape.Lines(reason) + ")"
}

// line waits for a line, or for ctx. The end of the input is an empty line.
func (a *asker) line(ctx context.Context) (string, error) {
	if a.lines == nil {
		a.lines = make(chan string)
		go func() { // ends with the input, or with the process
			defer close(a.lines)
			for s := bufio.NewScanner(a.in); s.Scan(); {
				a.lines <- s.Text()
			}
		}()
	}
	select {
	case s := <-a.lines:
		return s, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// allow is the answer of a person who said --yes.
func (a *asker) allow(context.Context, whet.Permission) error { return nil }

// refuse is the answer where there is no terminal.
func (a *asker) refuse(_ context.Context, p whet.Permission) error {
	return whet.Refuse("refused: %s %q needs a person's permission and there is no terminal to ask at (whet run --yes allows everything); do without it, or say what is needed", p.Action, p.Subject)
}
