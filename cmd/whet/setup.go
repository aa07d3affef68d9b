package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/astgrep"
	"github.com/whet-dev/whet/search"
)

// A helper is a program that whet works better with.
type helper struct{ module, version, use string }

func helpers() []helper {
	return []helper{
		{astgrep.Package, astgrep.Version, "ast-grep, for ast_grep_search and ast_grep_replace"},
		{"@vscode/ripgrep", "1.18.0", "ripgrep, for a faster grep and glob"},
	}
}

func (h helper) spec() string { return h.module + "@" + h.version }

// installed tells whether dir has the very version.
func (h helper) installed(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(h.module), "package.json"))
	var p struct{ Version string }
	return err == nil && json.Unmarshal(b, &p) == nil && p.Version == h.version
}

func setupCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "setup", Short: "Install ast-grep and ripgrep for whet alone", GroupID: "people", Args: cobra.NoArgs,
		Long: `Install ast-grep and ripgrep for whet alone.

Both are installed in fixed versions through npm, which checks what it loads,
into whet's own folder ($XDG_DATA_HOME/whet/tools). No install script is run,
nothing else on the machine changes, and afterwards no network is needed. What
is on PATH comes first, so whoever has the programs needs no setup.`,
		Example: `  whet setup
  whet setup --yes    # don't ask`,
		RunE: func(c *cobra.Command, _ []string) error { return setup(c, yes) },
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return c
}

func setup(c *cobra.Command, yes bool) error {
	dir, err := astgrep.ToolDir()
	if err != nil {
		return fmt.Errorf("finding a folder for tools: %w; set XDG_DATA_HOME", err)
	}
	missing := slices.DeleteFunc(helpers(), func(h helper) bool { return h.installed(dir) })
	w := c.OutOrStdout()
	if len(missing) > 0 {
		npm, err := exec.LookPath("npm")
		if err != nil {
			return fmt.Errorf("npm is not on PATH; it comes with Node.js. Or install ast-grep and ripgrep by other means (brew install ast-grep ripgrep; cargo install ast-grep ripgrep): whet uses what is on PATH")
		}
		fmt.Fprintf(w, "whet installs with npm into %s:\n", dir)
		for _, h := range missing {
			fmt.Fprintf(w, "  %s  (%s)\n", h.spec(), h.use)
		}
		if err := agree(c, yes); err != nil {
			return err
		}
		if err := npmInstall(c, npm, dir, missing); err != nil {
			return err
		}
	}
	return report(c.Context(), w)
}

// agree asks the person. Without one there must be --yes.
func agree(c *cobra.Command, yes bool) error {
	if yes {
		return nil
	}
	in := c.InOrStdin()
	if !isTerminal(in) {
		return usageError{errors.New("there is nobody to ask; to install, run: whet setup --yes")}
	}
	fmt.Fprint(c.OutOrStdout(), "Go on? [y/N] ")
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && line == "" {
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		fmt.Fprintln(c.OutOrStdout(), "Nothing was installed.")
		return exit(exitFailed)
	}
	return nil
}

// npmInstall lets npm do it. The package.json keeps npm from looking for a project
// in the folders above; npm itself replaces a package only when the new one is
// there whole.
func npmInstall(c *cobra.Command, npm, dir string, missing []helper) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder for tools: %w", err)
	}
	manifest := filepath.Join(dir, "package.json")
	if _, err := os.Stat(manifest); err != nil {
		if err := os.WriteFile(manifest, []byte("{\"private\":true}\n"), 0o644); err != nil {
			return fmt.Errorf("making the folder for tools: %w", err)
		}
	}
	args := []string{"install", "--prefix", dir, "--location=project", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", "--omit=dev", "--loglevel=error"}
	for _, h := range missing {
		args = append(args, h.spec())
	}
	cmd := exec.CommandContext(c.Context(), npm, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, c.ErrOrStderr(), c.ErrOrStderr()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	if c.Context().Err() != nil {
		return c.Context().Err()
	}
	if err != nil {
		return fmt.Errorf("npm install: %w; what it said stands above. Nothing of whet depends on it: set up the network or the registry and run whet setup again", err)
	}
	return nil
}

// report says what whet uses from now on.
func report(ctx context.Context, w io.Writer) error {
	e, err := new(astgrep.Finder).Find(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "ast-grep %s: %s\n", e.Version, e.Path)
	rg := search.FindRipgrep()
	if rg == "" {
		return errors.New("ripgrep was installed and is not there; grep and glob go on without it")
	}
	_, err = fmt.Fprintf(w, "ripgrep: %s\n", rg)
	return err
}
