package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/install"
	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit"
)

func installCommand() *cobra.Command {
	var w install.Wish
	var yes bool
	c := &cobra.Command{
		Use:     "install [HOST...]",
		Short:   "Put whet into the coding agents on this machine",
		GroupID: "people",
		Long: `Put whet into the coding agents on this machine: all that are found, or those
that you name. What would change is shown first, and then you are asked.

Your settings stay as they are, comments too; whet remembers what each file was,
and whet uninstall makes it that again.

` + hostsHelp(),
		Example: `  whet install
  whet install claude-code codex --yes
  whet doctor`,
		ValidArgs: hostNames(),
		RunE: func(c *cobra.Command, args []string) error {
			return change(c, w, args, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "write without asking")
	c.Flags().BoolVar(&w.Replace, "replace", false, "also switch off what the host has of its own where whet has a better one: its web fetch")
	return c
}

func uninstallCommand() *cobra.Command {
	w := install.Wish{Remove: true}
	var yes bool
	c := &cobra.Command{
		Use:       "uninstall [HOST...]",
		Short:     "Take whet out of the coding agents again",
		Long:      "Take whet out of the coding agents again, or only out of those that you name.\n\n" + hostsHelp(),
		GroupID:   "people",
		ValidArgs: hostNames(),
		RunE: func(c *cobra.Command, args []string) error {
			return change(c, w, args, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "write without asking")
	return c
}

// hostsHelp lists the names of hosts, broken for a terminal of 80 columns.
func hostsHelp() string {
	names := hostNames()
	half := len(names) / 2
	return "HOST is one of: " + strings.Join(names[:half], ", ") + ",\n" + strings.Join(names[half:], ", ") + "."
}

func hostNames() (names []string) {
	for _, h := range install.Hosts() {
		names = append(names, h.Name)
	}
	return names
}

// change plans what w wants, shows it, asks, and does it.
func change(c *cobra.Command, w install.Wish, names []string, yes bool) error {
	e, err := machine()
	if err != nil {
		return err
	}
	if w.Hosts, err = wanted(e, names, w.Remove); err != nil {
		return err
	}
	dir, err := state.Root()
	if err != nil {
		return err
	}
	m := install.Load(dir)
	changes, err := install.Plan(e, w, m)
	if err != nil {
		return fmt.Errorf("%w\nNothing was written. Mend that file, or name the other hosts", err)
	}
	out := c.OutOrStdout()
	if len(changes) == 0 {
		fmt.Fprintf(out, "Nothing to do: whet is %s %s already.\n", inOrOut(w.Remove), titles(w.Hosts))
		return nil
	}
	for _, change := range changes {
		show(out, change)
	}
	if !yes {
		if !isTerminal(c.InOrStdin()) {
			fmt.Fprintln(c.ErrOrStderr(), "whet: nothing was written; --yes writes without a question")
			return exit(exitFailed)
		}
		fmt.Fprintf(out, "Write %s? [y]es, [n]o: ", count(len(changes), "file"))
		answer, err := (&asker{in: c.InOrStdin()}).line(c.Context())
		if err != nil {
			return err
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			fmt.Fprintln(out, "Nothing was written.")
			return exit(exitFailed)
		}
	}
	if err := m.Apply(changes, w); err != nil {
		return err
	}
	fmt.Fprintf(out, "Wrote %s: whet is %s %s.\n", count(len(changes), "file"), inOrOut(w.Remove), titles(w.Hosts))
	if w.Remove {
		return nil
	}
	for _, h := range w.Hosts {
		if h.Todo != "" {
			fmt.Fprintf(out, "%s: %s.\n", h.Title, h.Todo)
		}
	}
	fmt.Fprintln(out, "Agents that run now must be started again. To see that whet is in their path: whet doctor")
	return nil
}

// wanted returns the hosts that are named, or else those that are there.
func wanted(e install.Env, names []string, all bool) (hosts []install.Host, err error) {
	for _, name := range names {
		h, err := install.Find(name)
		if err != nil {
			return nil, usageError{err}
		}
		hosts = append(hosts, h)
	}
	if len(names) > 0 {
		return hosts, nil
	}
	for _, h := range install.Hosts() {
		if all || h.Present(e) {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("no coding agent found on this machine; name the one that you use: %s", strings.Join(hostNames(), ", "))
	}
	return hosts, nil
}

// show prints a change: the whole of a short new file, the difference to an
// old one.
func show(w io.Writer, c install.Change) {
	const short = 40 // lines
	lines := bytes.Count(c.After, []byte("\n"))
	switch {
	case c.After == nil:
		fmt.Fprintf(w, "remove %s\n\n", c.Path)
	case c.Before == nil && lines > short:
		fmt.Fprintf(w, "new file %s (%d lines)\n\n", c.Path, lines)
	default:
		text := string(diff.Diff(c.Path, c.Before, c.Path, c.After))
		_, text, _ = strings.Cut(text, "\n") // the line with the command's name
		fmt.Fprintln(w, escape.Lines(text))
	}
}

func inOrOut(remove bool) string {
	if remove {
		return "out of"
	}
	return "in"
}

func titles(hosts []install.Host) string {
	var out []string
	for _, h := range hosts {
		out = append(out, h.Title)
	}
	return strings.Join(out, ", ")
}

// count is a number of things that make their plural with an s.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// machine describes where whet runs.
func machine() (install.Env, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return install.Env{}, fmt.Errorf("looking for the agents' configuration: %w; set it", err)
	}
	exe, err := stableExe()
	return install.Env{GOOS: runtime.GOOS, Home: home, Exe: exe, HookExe: hookExe(exe), Getenv: os.Getenv, LookPath: exec.LookPath, Guests: guests()}, err
}

// guests are the servers of the packages that a person has enabled for all
// projects and trusts: a host's configuration is for all projects too.
func guests() (out []install.Guest) {
	set, _ := packagesOf(context.Background(), &config.Loaded[kit.Config]{}, "", "") // what is wrong is told where a session begins
	for _, x := range set.Servers() {
		out = append(out, install.Guest{Name: x.ID, Server: x.Name})
	}
	return out
}

// goInstall is how a person with Go gets both programs.
const goInstall = "go install github.com/whet-dev/whet/cmd/...@latest"

// hookExe returns the whet-hook that lies beside whet, if it is of the same version.
func hookExe(whet string) string {
	path := filepath.Join(filepath.Dir(whet), "whet-hook"+filepath.Ext(whet))
	out, err := exec.Command(path, "version").Output()
	if err != nil || strings.TrimSpace(string(out)) != "whet-hook "+cli.Version() {
		return ""
	}
	return path
}

// stableExe returns this program's path as it will be after an upgrade: the
// name on PATH rather than what it points to, which may have a version in it.
func stableExe() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if strings.Contains(filepath.ToSlash(exe), "/go-build") {
		return "", errors.New("this whet was built for one run (go run) and is gone after it; install it first: " + goInstall)
	}
	found, err := exec.LookPath("whet")
	if err != nil {
		return exe, nil
	}
	if found, err = filepath.Abs(found); err != nil {
		return exe, nil
	}
	a, errA := os.Stat(found)
	b, errB := os.Stat(exe)
	if cmp.Or(errA, errB) == nil && os.SameFile(a, b) {
		return found, nil
	}
	return exe, nil
}
