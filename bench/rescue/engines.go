package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet/applypatch"
	"github.com/whet-dev/whet/bench/appliers"
)

// An engine applies the patches of cases, each to its own file f.
type engine interface {
	name() string
	run(context.Context, []Case) ([]outcome, error)
}

type whetEngine struct{}

func (whetEngine) name() string { return "whet" }

// run applies each patch for real, in a directory of its own.
func (whetEngine) run(ctx context.Context, cases []Case) (outs []outcome, err error) {
	return inDirs(cases, func(dir string, c Case) error {
		w, err := applypatch.Open(dir)
		if err != nil {
			return err
		}
		defer w.Close()
		p, err := applypatch.Parse(c.Patch)
		if err != nil {
			return err
		}
		no := false
		plan, err := applypatch.Resolve(w, p, applypatch.Options{Durable: &no})
		if err != nil {
			return err
		}
		return plan.Commit(ctx, "")
	})
}

// inDirs runs apply on each case's file in a directory and reads what it left.
func inDirs(cases []Case, apply func(dir string, c Case) error) (outs []outcome, err error) {
	dir, err := os.MkdirTemp("", "rescue")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	f := filepath.Join(dir, "f")
	for _, c := range cases {
		if err := os.WriteFile(f, []byte(c.Target), 0o600); err != nil {
			return nil, err
		}
		o := outcome{}
		if err := apply(dir, c); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil, err
			}
			o = outcome{refused: true, note: err.Error()}
		} else {
			b, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			o.text = string(b)
		}
		outs = append(outs, o)
	}
	return outs, nil
}

// peers are the other engines, as far as scripts/peers has installed them.
func peers() []engine { return []engine{codex{}, slim{}} }

// codex is the real applier of the Codex binary.
type codex struct{}

func (codex) name() string { return appliers.CodexName }

func (codex) run(ctx context.Context, cases []Case) ([]outcome, error) {
	bin, err := appliers.Codex()
	if err != nil {
		return nil, err
	}
	return inDirs(cases, func(dir string, c Case) error {
		cmd := &exec.Cmd{Path: bin, Args: []string{"apply_patch"}, Dir: dir, Stdin: strings.NewReader(c.Patch), Env: append(os.Environ(), "HOME="+dir, "CODEX_HOME="+dir)}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// slim is the rescue engine of the published oh-my-opencode-slim: its own
// functions, taken from the bundle that it ships, under node. What it decides is
// applied by its own applier; behind OpenCode's more would be lost.
type slim struct{}

func (slim) name() string { return appliers.SlimName }

//go:embed slim.mjs
var slimDriver []byte

func (slim) run(ctx context.Context, cases []Case) ([]outcome, error) {
	dir, err := os.MkdirTemp("", "slim")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := appliers.Slim(dir, slimDriver); err != nil {
		return nil, err
	}
	var in bytes.Buffer
	e := json.NewEncoder(&in)
	for _, c := range cases {
		if err := e.Encode(c); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, "node", "slim.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var outs []outcome
	d := json.NewDecoder(bytes.NewReader(out))
	for range cases {
		var v struct{ Text, Error string }
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		outs = append(outs, outcome{text: v.Text, refused: v.Error != "", note: v.Error})
	}
	return outs, nil
}
