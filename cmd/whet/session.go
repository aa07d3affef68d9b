package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/internal/project"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/kit/packages"
)

// A place is a project and what is configured there.
type place struct {
	dir, worktree string
	config        *config.Loaded[kit.Config]
	kit           *whet.Kit
	packages      packages.Set // in force
}

// inert is what WHET_DISABLE does, in words for a person.
const inert = "WHET_DISABLE is set: there are no tools and no guards"

// open reads the configuration for dir, "" for the working directory, and
// makes the kit. Problems of the configuration go to stderr, a line each.
func open(c *cobra.Command, dir string) (*place, error) {
	p, err := locate(dir)
	if err != nil {
		return nil, err
	}
	for _, problem := range p.config.Problems {
		fmt.Fprintln(c.ErrOrStderr(), "whet:", problem)
	}
	var problems []string
	p.packages, problems = packagesOf(c.Context(), p.config, p.dir, p.worktree)
	for _, problem := range problems {
		fmt.Fprintln(c.ErrOrStderr(), "whet:", problem)
	}
	if p.config.Inert {
		fmt.Fprintln(c.ErrOrStderr(), "whet:", inert)
	}
	p.kit = kit.New(p.config, cli.Logger(c.ErrOrStderr()))
	return p, nil
}

// locate is open without the kit, and silent about the configuration.
func locate(dir string) (*place, error) {
	dir, err := directory(dir)
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir, worktree: project.Worktree(dir)}
	p.config = config.Load[kit.Config](p.dir, p.worktree, os.Environ())
	return p, nil
}

// directory returns dir, "" for the working directory, as an absolute path.
func directory(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", usageError{fmt.Errorf("--dir %s: %w", dir, cmp.Or(err, fmt.Errorf("not a directory")))}
	}
	return dir, nil
}

// session returns a session of the place whose values are kept in files if it
// has an id, and in memory otherwise.
func (p *place) session(id, agent string) whet.Session {
	s := whet.Session{ID: id, Agent: agent, Host: "cli", Dir: p.dir, Worktree: p.worktree}
	if id == "" {
		s.Store = state.Memory()
	} else {
		s.Store = state.Default("cli/" + id)
	}
	return s
}
