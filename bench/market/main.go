// Market measures what packages cost: whole processes that look at 200 of them
// against an empty Go program, and the installation of one of a megabyte.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet/internal/measure"
	"github.com/whet-dev/whet/market"
)

const packages = 200

func main() { measure.Main("market", run) }

func run(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "whet-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	whet, err := measure.BuildWhet(ctx, dir)
	if err != nil {
		return err
	}
	empty, err := measure.BuildEmpty(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n\n", measure.Machine())
	if err := looks(ctx, w, dir, empty, whet); err != nil {
		return err
	}
	return installs(ctx, w, dir)
}

// looks times list and status, with a tenth of the packages enabled.
func looks(ctx context.Context, w io.Writer, dir, empty, whet string) error {
	home := filepath.Join(dir, "home")
	m := at(home)
	for i := range packages {
		path := filepath.Join(dir, "package")
		id := fmt.Sprintf("acme/p%d", i)
		err := pack(path, id, map[string]string{
			"skills/review/SKILL.md":     "---\nname: review\ndescription: Reviews\n---\n" + strings.Repeat("Read it twice.\n", 200),
			"skills/review/checklist.md": strings.Repeat("- a point\n", 300),
			"dev.whet/agents/a.md":       "---\ndescription: An agent\n---\nYou review.\n",
			"dev.whet/commands/c.md":     "---\ndescription: A command\n---\nReview $ARGUMENTS\n",
			"README.md":                  "# A package\n",
		})
		if err != nil {
			return err
		}
		if _, err := m.Install(ctx, path); err != nil {
			return err
		}
		if i%10 == 0 {
			if _, err := m.Enable(ctx, id, "user"); err != nil {
				return err
			}
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	env := append(os.Environ(), "HOME="+home, "WHET_MARKET_DIR=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	process := func(name, path string, args ...string) measure.Contender {
		return measure.Contender{Name: name, Run: func() error {
			cmd := exec.CommandContext(ctx, path, args...)
			cmd.Env, cmd.Dir = env, home
			return cmd.Run()
		}}
	}
	rows, err := measure.Compare(200,
		process("empty Go program", empty),
		process("`whet version`", whet, "version"),
		process("`whet market list`", whet, "market", "list"),
		process("`whet market status`", whet, "market", "status"),
	)
	if err != nil {
		return err
	}
	return measure.Print(w, fmt.Sprintf("%d packages of 6 files, %d of them enabled", packages, packages/10), rows)
}

// installs times a package of a megabyte in 60 files.
func installs(ctx context.Context, w io.Writer, dir string) error {
	files := map[string]string{}
	for i := range 59 {
		files[fmt.Sprintf("skills/s%d/SKILL.md", i)] = fmt.Sprintf("---\nname: s%d\ndescription: A skill\n---\n", i) + strings.Repeat(fmt.Sprintf("Line of skill %d.\n", i), 1100)
	}
	path := filepath.Join(dir, "large")
	if err := pack(path, "acme/large", files); err != nil {
		return err
	}
	n := 0
	install := func(name string, noSync bool) measure.Contender {
		return measure.Contender{Name: name, Run: func() error {
			n++
			m := at(filepath.Join(dir, fmt.Sprint("home", n)))
			m.NoSync = noSync
			_, err := m.Install(ctx, path)
			return err
		}}
	}
	rows, err := measure.Compare(40,
		measure.Contender{Name: "`cp -r`", Run: func() error {
			n++
			return exec.CommandContext(ctx, "cp", "-r", path, filepath.Join(dir, fmt.Sprint("copy", n))).Run()
		}},
		install("install, without waiting for the disk", true),
		install("install", false),
	)
	if err != nil {
		return err
	}
	return measure.Print(w, "Installing 1 MB in 60 files", rows)
}

func at(home string) *market.Market {
	return &market.Market{Where: market.Where{Environ: []string{"HOME=" + home}}}
}

func pack(dir, id string, files map[string]string) error {
	_, name, _ := strings.Cut(id, "/")
	files["plugin.json"] = fmt.Sprintf(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": %q, "version": "1.0.0", "extensions": {"dev.whet": {"schema": 1, "id": %q}}}`, name, id)
	for name, text := range files {
		if err := write(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	return nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
