package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/config/slim"
	"github.com/whet-dev/whet/internal/atomicfile"
	"github.com/whet-dev/whet/internal/jsonc"
)

func configImport() *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use: "import FILE", Short: "Take over the settings of oh-my-opencode-slim", Args: usageArgs(cobra.ExactArgs(1)),
		Long: `Translate a configuration of oh-my-opencode-slim into whet's. It is printed, or
with --write added to your own configuration, in which nothing that is set
already is changed. What has no counterpart is listed, with its line.`,
		Example: "  whet config import ~/.config/opencode/oh-my-opencode-slim.jsonc --write",
		RunE: func(c *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			in, err := slim.Read(text)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return importSettings(c, in, args[0], write)
		},
	}
	c.Flags().BoolVar(&write, "write", false, "add them to your own configuration")
	return c
}

// importSettings adds what was read to the person's configuration, or to an
// empty one that is printed, and reports on every key.
func importSettings(c *cobra.Command, in *slim.Import, from string, write bool) error {
	var text []byte
	name := ""
	if write {
		dir := config.UserDir(os.Getenv)
		if dir == "" {
			return errors.New("there is no place for a configuration: set HOME or WHET_CONFIG_DIR")
		}
		name = filepath.Join(dir, "whet.jsonc")
		if plain := filepath.Join(dir, "whet.json"); !exists(name) && exists(plain) {
			name = plain
		}
		var err error
		if text, err = os.ReadFile(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	d, err := jsonc.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	report := func(line int, format string, a ...any) {
		fmt.Fprintf(c.ErrOrStderr(), "%s:%d: %s\n", from, line, fmt.Sprintf(format, a...))
	}
	taken := 0
	for _, s := range in.Settings {
		to := strings.Join(s.Path, ".")
		if old, ok := d.Get(s.Path...); ok {
			if !d.Has(s.Value, s.Path...) {
				report(s.Line, "%s: left out, since %s is set already, to %v", s.From, to, old)
			}
			continue
		}
		if err := d.Set(s.Value, s.Path...); err != nil {
			return fmt.Errorf("%s: %s: %w", cmp.Or(name, from), to, err)
		}
		report(s.Line, "%s: taken as %s", s.From, to)
		taken++
	}
	for _, n := range in.Notes {
		report(n.Line, "%s: ignored: %s", n.From, n.Why)
	}
	if !write {
		_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n", strings.TrimSpace(string(d.Bytes())))
		return err
	}
	if taken > 0 {
		if err := replaceFile(name, d.Bytes()); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s added, %s ignored\n", name, count(taken, "setting"), count(len(in.Notes), "key"))
	return err
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func replaceFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	return atomicfile.Write(root, filepath.Base(name), text)
}
