package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/install"
	"github.com/whet-dev/whet/internal/proc"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/kit"
)

// A finding is one thing that the doctor looked at.
type finding struct {
	Host   string `json:"host,omitempty"`
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warning, problem
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

const (
	isOK      = "ok"
	isWarning = "warning"
	isProblem = "problem"
)

func doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "doctor [HOST...]",
		Short:   "Prove that whet is in each agent's path",
		GroupID: "people",
		Long: `Prove that whet is in each agent's path: read each agent's own configuration,
run the very command that stands there with an event as that agent sends it, and
see that whet answers in the words that the agent takes. It also says what is
wrong with whet's own configuration here.

The exit status is 1 if there is a problem.

` + hostsHelp(),
		ValidArgs: hostNames(),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := machine()
			if err != nil {
				return err
			}
			here, err := locate("")
			if err != nil {
				return err
			}
			hosts, none := wanted(e, args, false)
			if none != nil && len(args) > 0 {
				return none
			}
			d := &doctor{ctx: c.Context(), env: e}
			d.machine()
			d.settings(here.config)
			if none != nil {
				d.add(finding{Check: "agents", Status: isProblem, Text: none.Error()})
			}
			for _, h := range hosts {
				d.host(h)
			}
			return d.report(c, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return c
}

type doctor struct {
	ctx      context.Context
	env      install.Env
	findings []finding
}

func (d *doctor) add(f finding) { d.findings = append(d.findings, f) }

func (d *doctor) report(c *cobra.Command, asJSON bool) error {
	out := c.OutOrStdout()
	var problem bool
	for _, f := range d.findings {
		problem = problem || f.Status == isProblem
	}
	if asJSON {
		if err := printJSON(out, d.findings); err != nil {
			return err
		}
	} else {
		mark := map[string]string{isOK: "ok", isWarning: "!", isProblem: "✗"}
		host := ""
		for _, f := range d.findings {
			if f.Host != host {
				fmt.Fprintf(out, "\n%s\n", f.Host)
				host = f.Host
			}
			fmt.Fprintf(out, "  %-2s %-8s %s\n", mark[f.Status], f.Check, f.Text)
			if f.Advice != "" {
				fmt.Fprintf(out, "              → %s\n", f.Advice)
			}
		}
	}
	if problem {
		return exit(exitFailed)
	}
	return nil
}

// machine looks at what doesn't belong to one host.
func (d *doctor) machine() {
	d.add(finding{Check: "whet", Status: isOK, Text: cli.Version() + " at " + d.env.Exe})
	if d.env.HookExe != "" {
		d.add(finding{Check: "hooks", Status: isOK, Text: d.env.HookExe})
	} else {
		d.add(finding{Check: "hooks", Status: isWarning, Text: "no whet-hook " + cli.Version() + " beside whet: each hook takes twice as long to start", Advice: "install both, then whet install: " + goInstall})
	}
	if path, err := exec.LookPath("rg"); err == nil {
		d.add(finding{Check: "ripgrep", Status: isOK, Text: path})
	} else {
		d.add(finding{Check: "ripgrep", Status: isWarning, Text: "rg is not on PATH", Advice: "install ripgrep: several agents download their own at the first search, and fail without a network"})
	}
}

// settings tells what is wrong with whet's own configuration, as it holds here.
func (d *doctor) settings(l *config.Loaded[kit.Config]) {
	if l.Inert {
		d.add(finding{Check: "settings", Status: isProblem, Text: inert, Advice: "unset it"})
	}
	for _, p := range l.Problems {
		f := finding{Check: "settings", Status: isProblem, Text: p.String()}
		if p.Untrusted {
			f.Status = isWarning
		}
		d.add(f)
	}
	if len(l.Sources) > 0 && len(l.Problems) == 0 {
		d.add(finding{Check: "settings", Status: isOK, Text: "nothing wrong in " + count(len(l.Sources), "configuration")})
	}
}

func (d *doctor) host(h install.Host) {
	add := func(check, status, text, advice string) {
		d.add(finding{h.Name, check, status, text, advice})
	}
	if v := d.version(h); v != "" {
		add("program", isOK, h.Program+" "+v, "")
		if old(v, tested[h.Name]) {
			add("program", isWarning, "it is older than "+tested[h.Name]+", which whet is tested with", "update "+h.Title)
		}
	}
	if !d.config(h, add) {
		return
	}
	switch h.Name {
	case "opencode":
		d.openCode(add)
		return
	case "codex":
		d.codexTrust(add)
	}
	commands, err := h.Commands(d.env)
	if err != nil {
		add("config", isProblem, err.Error(), "")
		return
	}
	seen := map[string]bool{}
	for _, c := range commands {
		key := c.Shell + strings.Join(c.Words, "\x00")
		if !seen[key] {
			d.probe(c, add)
		}
		seen[key] = true
	}
}

// config looks whether the host's files are as whet install leaves them.
func (d *doctor) config(h install.Host, add func(check, status, text, advice string)) bool {
	dir, err := state.Root()
	if err != nil {
		add("config", isProblem, err.Error(), "")
		return false
	}
	changes, err := install.Plan(d.env, install.Wish{Hosts: []install.Host{h}}, install.Load(dir))
	if err != nil {
		add("config", isProblem, err.Error(), "mend that file")
		return false
	}
	if len(changes) == 0 {
		add("config", isOK, "as whet install leaves it", "")
		return true
	}
	var paths []string
	missing := 0
	for _, c := range changes {
		paths = append(paths, c.Path)
		if c.Before == nil {
			missing++
		}
	}
	commands, err := h.Commands(d.env)
	if err == nil && len(commands) == 0 && (h.Name != "opencode" || missing == len(changes)) {
		add("config", isProblem, "whet is not installed here", "whet install "+h.Name)
		return false
	}
	add("config", isProblem, "not as this whet would leave it: "+strings.Join(paths, ", "), "whet install "+h.Name)
	return true
}

// tested are the versions that the end-to-end tests run.
var tested = map[string]string{
	"opencode": "1.18.33", "claude-code": "2.1.332", "codex": "0.171.0", "gemini": "0.61.0", "qwen": "0.24.4",
}

var versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)*`)

// version asks the host's program for its version. Those with a window are not
// asked: starting them is noticed.
func (d *doctor) version(h install.Host) string {
	path, err := exec.LookPath(h.Program)
	if err != nil || h.Name == "vscode" || h.Name == "cursor" || h.Name == "windsurf" {
		return ""
	}
	res, err := proc.Run(d.ctx, proc.Command{Path: path, Args: []string{"--version"}, Timeout: patience})
	if err != nil || res.Code != 0 {
		return ""
	}
	return string(versionNumber.Find(res.Output))
}

// patience is how long a program may take to answer the doctor.
const patience = 15 * time.Second

// old reports whether version a is older than b, where both are known.
func old(a, b string) bool {
	if b == "" {
		return false
	}
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, y := len(as[i]), len(bs[i])
		if x != y {
			return x < y
		}
		if as[i] != bs[i] {
			return as[i] < bs[i]
		}
	}
	return len(as) < len(bs)
}

// openCode looks at what only this host has: a plugin with a child, and a
// directory that it fills from the network before it loads plugins.
func (d *doctor) openCode(add func(check, status, text, advice string)) {
	if err := probeRPC(d.ctx, d.env.Exe); err != nil {
		add("answer", isProblem, "whet rpc: "+err.Error(), "")
	} else {
		add("answer", isOK, "whet rpc answers the plugin", "")
	}
	dir := filepath.Dir(filepath.Dir(d.pluginPath()))
	_, errModules := os.Stat(filepath.Join(dir, "node_modules"))
	lock, errLock := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if errModules == nil && errLock == nil && strings.Contains(string(lock), "@opencode-ai/plugin") {
		return
	}
	add("offline", isWarning, "OpenCode will install @opencode-ai/plugin into "+dir+" before it loads plugins, and wait more than a minute for that if there is no network",
		"start OpenCode once with a network")
}

func (d *doctor) pluginPath() string {
	h, err := install.Find("opencode")
	if err != nil {
		return ""
	}
	return h.Paths(d.env)[0]
}

// codexTrust asks Codex itself which hooks it would skip.
func (d *doctor) codexTrust(add func(check, status, text, advice string)) {
	hooks, err := codexHooks(d.ctx, d.env.Home)
	if errors.Is(err, exec.ErrNotFound) {
		return
	}
	if err != nil {
		add("trust", isWarning, "could not ask Codex: "+err.Error(), "open /hooks in Codex and see that whet's are trusted")
		return
	}
	ours, untrusted := 0, 0
	for _, h := range hooks {
		if strings.HasSuffix(h.Command, " hook codex") {
			ours++
			if h.Trust != "trusted" && !h.Managed {
				untrusted++
			}
		}
	}
	switch {
	case ours == 0:
		add("trust", isProblem, "Codex sees no hook of whet's", "whet install codex")
	case untrusted > 0:
		add("trust", isProblem, fmt.Sprintf("Codex skips %d of whet's %d hooks: nobody has trusted them", untrusted, ours), "open /hooks in Codex and trust them; only you can")
	default:
		add("trust", isOK, fmt.Sprintf("Codex trusts whet's %d hooks", ours), "")
	}
}
