package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/internal/trust"
	"github.com/whet-dev/whet/kit"
)

func trustCommand() *cobra.Command {
	var revoke, show bool
	c := &cobra.Command{
		Use:     "trust [DIRECTORY]",
		Short:   "Let what a project brings along run as programs",
		GroupID: "people",
		Long: `Let what a project brings along run as programs: formatters installed in it,
configurations that are programs themselves, and the commands in its .whet.

Until then none of it runs, because opening a repository must not run what it
brings. What changes later is not trusted any more; run this again then.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := ""
			if len(args) > 0 {
				dir = args[0]
			}
			p, err := locate(dir)
			if err != nil {
				return err
			}
			if revoke {
				if err := trust.Revoke(p.worktree); err != nil {
					return err
				}
				return p.showTrust(c)
			}
			if show {
				_, err := p.programs(c)
				return errors.Join(err, p.showTrust(c))
			}
			// The settings first: they say which programs there are.
			if err := trust.Grant(p.worktree, p.risky(io.Discard)); err != nil {
				return fmt.Errorf("keeping the trust: %w", err)
			}
			p.config = config.Load[kit.Config](p.dir, p.worktree, os.Environ())
			files, err := p.programs(c)
			if err != nil {
				return err
			}
			if err := trust.Grant(p.worktree, files); err != nil {
				return fmt.Errorf("keeping the trust: %w", err)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is trusted; take it back with: whet trust --revoke\n", p.worktree)
			return nil
		},
	}
	c.Flags().BoolVar(&revoke, "revoke", false, "trust the project no more")
	c.Flags().BoolVar(&show, "show", false, "only show what it would be about")
	c.MarkFlagsMutuallyExclusive("revoke", "show")
	return c
}

// programs lists what the project would run, prints it, and returns digests.
func (p *place) programs(c *cobra.Command) (map[string]string, error) {
	root, err := os.OpenRoot(p.worktree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	engine := format.Engine{Options: p.config.Config.Formatter}
	found, err := engine.Programs(c.Context(), root)
	if err != nil {
		return nil, err
	}
	files := p.risky(c.OutOrStdout())
	for _, name := range found {
		if trust.Digested(name) {
			files[name] = trust.Digest(filepath.Join(p.worktree, filepath.FromSlash(name)))
		}
		fmt.Fprintln(c.OutOrStdout(), name)
	}
	return files, nil
}

// risky lists the project's settings that run programs on w, and returns their
// digests by file.
func (p *place) risky(w io.Writer) map[string]string {
	files := map[string]string{}
	for _, r := range p.config.Risky {
		name := trust.Name(p.worktree, r.File)
		files[name] = r.Digest
		for _, s := range r.Settings {
			fmt.Fprintf(w, "%s: %s\n", name, s)
		}
	}
	return files
}

func (p *place) showTrust(c *cobra.Command) error {
	state := "is not trusted"
	if t, ok := trust.Of(p.worktree); ok {
		state = "is trusted since " + t.At.Local().Format("2006-01-02 15:04")
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s %s\n", p.worktree, state)
	return err
}
