package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/internal/project"
	"github.com/whet-dev/whet/kit"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Show and check the configuration", GroupID: "people", Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var dir string
	c.PersistentFlags().StringVar(&dir, "dir", "", "project `directory` (default the working directory)")
	load := func() (*config.Loaded[kit.Config], error) {
		abs, err := filepath.Abs(dir)
		return config.Load[kit.Config](abs, project.Worktree(abs), os.Environ()), err
	}
	c.AddCommand(configShow(load), configCheck(load), configImport(), &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration file", Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			b, err := kit.Schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", b)
			return err
		},
	})
	return c
}

func configShow(load func() (*config.Loaded[kit.Config], error)) *cobra.Command {
	var origin bool
	c := &cobra.Command{
		Use: "show", Short: "Print the settings in force that differ from the defaults", Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := load()
			if err != nil {
				return err
			}
			b, err := json.MarshalIndent(l.Config, "", "  ")
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\n", b)
			if !origin {
				if len(l.Origins) == 0 && isTerminal(c.OutOrStdout()) {
					fmt.Fprintln(c.ErrOrStderr(), "whet: nothing is set; all defaults hold. whet config schema lists what can be")
				}
				return nil
			}
			for _, path := range slices.Sorted(maps.Keys(l.Origins)) {
				fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", path, l.Origins[path])
			}
			if len(l.Origins) == 0 {
				fmt.Fprintln(c.OutOrStdout(), "nothing is set; all defaults hold")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&origin, "origin", false, "say where each setting was made")
	return c
}

func configCheck(load func() (*config.Loaded[kit.Config], error)) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check the configuration; exit status 1 if anything is wrong", Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := load()
			if err != nil {
				return err
			}
			for _, p := range l.Problems {
				fmt.Fprintln(c.OutOrStdout(), p)
			}
			switch {
			case len(l.Problems) > 0:
				return exit(exitFailed)
			case len(l.Sources) == 0:
				fmt.Fprintln(c.OutOrStdout(), "no configuration found; all defaults hold")
			default:
				fmt.Fprintf(c.OutOrStdout(), "all is well in %s\n", count(len(l.Sources), "configuration"))
			}
			return nil
		},
	}
}
