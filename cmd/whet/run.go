package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/task/client"
)

type runFlags struct {
	wish      agent.Wish
	dir, role string
	maxSteps  int
	yes, json bool
	idle      time.Duration
}

func runCommand() *cobra.Command {
	var o runFlags
	c := &cobra.Command{
		Use:     "run PROMPT...",
		Short:   "Let whet's own agent work on something",
		GroupID: "people",
		Long: `Let whet's own agent work on something, with every tool and guard of whet.

The model is PROVIDER/NAME. Providers are anthropic (key in $ANTHROPIC_API_KEY),
openai ($OPENAI_API_KEY) and those in your configuration; --base-url is any other
server that speaks OpenAI's chat completions. A local server needs no key.

The conversation is shown as it happens. If standard output is no terminal, only
the answer goes there and the rest to standard error; with --json each event is
a line of JSON on standard output.

Commands, and files outside the project, need your permission. Without a
terminal to ask at they are refused, unless --yes allows them all.

A - in the prompt stands for what comes on standard input.

The exit status is 0 if the work came to its end, 1 if it didn't (an error, the
step limit), 2 for a wrong command line, 130 after Ctrl-C.`,
		Example: `  whet run --model anthropic/NAME "why does TestParse fail?"
  whet run --model qwen3:8b --base-url http://127.0.0.1:11434/v1 --agent explorer "where are sessions kept?"
  git diff | whet run --model openai/NAME "review this change:" -`,
		RunE: func(c *cobra.Command, args []string) error { return runAgent(c, o, args) },
	}
	f := c.Flags()
	f.StringVarP(&o.wish.Model, "model", "m", "", "`PROVIDER/NAME` of the model (default agent.model of the configuration)")
	f.StringVar(&o.wish.BaseURL, "base-url", "", "`address` of the model's API")
	f.StringVar(&o.dir, "dir", "", "project `directory` (default the working directory)")
	f.StringVar(&o.role, "agent", agent.Roles()[0].Name, "which agent works: "+roleNames())
	f.IntVar(&o.maxSteps, "max-steps", agent.DefaultMaxSteps, "stop after this many turns of the model")
	f.BoolVarP(&o.yes, "yes", "y", false, "allow everything that needs permission")
	f.BoolVar(&o.json, "json", false, "print events as lines of JSON")
	f.DurationVar(&o.idle, "idle-timeout", agent.DefaultIdle, "give the model up when it sends nothing for this long")
	_ = c.RegisterFlagCompletionFunc("agent", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, r := range agent.Roles() {
			names = append(names, r.Name+"\t"+r.About)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func roleNames() string {
	var names []string
	for _, r := range agent.Roles() {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

func runAgent(c *cobra.Command, o runFlags, args []string) error {
	if o.maxSteps < 1 {
		return usageError{errors.New("--max-steps: want at least 1")}
	}
	p, err := open(c, o.dir)
	if err != nil {
		return err
	}
	prompt, err := promptText(c, args)
	if err != nil {
		return err
	}
	prompt = o.call(c, p.packages, prompt)
	role, err := roleFor(o.role, p.dir)
	if err != nil {
		return err
	}
	endpoint, err := p.config.Config.Agent.Resolve(o.wish, os.Getenv)
	if err != nil {
		return usageError{err}
	}
	endpoint.Idle = o.idle
	// Until the run has ended its children, no signal may end us.
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()

	s := p.session("", role.Name)
	s.Host, s.ID = "whet", rand.Text()
	a := &asker{in: c.InOrStdin(), out: c.ErrOrStderr()}
	switch {
	case o.yes:
		s.Ask = a.allow
	case !o.json && isTerminal(c.InOrStdin()) && isTerminal(c.ErrOrStderr()):
		s.Ask = a.ask
	default:
		s.Ask = a.refuse
	}
	said := client.Said{Model: cmp.Or(o.wish.Model, p.config.Config.Agent.Model), BaseURL: o.wish.BaseURL}
	if o.yes {
		said.Allow = []string{"*"}
	}
	if err := client.Say(s, said); err != nil {
		return err
	}
	_ = market.Begin(s, kit.Where(p.dir, p.worktree)) // only the marketplace's word on reloading needs it
	show, answer := display(c, o.json)
	options := agent.Options{
		Model: endpoint.Open(), Kit: p.kit, Session: s, Role: role, Disabled: p.config.Config.Tools.Disabled,
		Prompt: prompt, MaxSteps: o.maxSteps, Event: show, Inbox: client.Inbox(s),
	}
	guest, err := begin(ctx, p.packages, &options, p.kit.Log)
	defer guest.close()
	for _, problem := range guest.servers.Problems {
		fmt.Fprintln(c.ErrOrStderr(), "whet:", problem)
	}
	if err != nil {
		return err
	}
	out, err := agent.Run(ctx, options)
	if ctx.Err() != nil {
		fmt.Fprintln(c.ErrOrStderr(), "whet: stopped")
		return ctx.Err()
	}
	answer(out)
	return err
}

// display returns how events are shown, and how the answer is at the end.
func display(c *cobra.Command, asJSON bool) (func(agent.Event), func(*agent.Outcome)) {
	stdout, stderr := c.OutOrStdout(), c.ErrOrStderr()
	silent := func(*agent.Outcome) {}
	if asJSON {
		e := jsonLines(stdout)
		return func(ev agent.Event) { _ = e.Encode(ev) }, silent
	}
	if isTerminal(stdout) {
		return (&agent.Printer{W: stdout, Colour: colour(stdout)}).Event, silent
	}
	return (&agent.Printer{W: stderr, Colour: colour(stderr)}).Event, func(o *agent.Outcome) {
		if o.Text != "" {
			fmt.Fprintln(stdout, strings.TrimRight(o.Text, "\n"))
		}
	}
}

// maxPrompt bounds a prompt from standard input, in bytes.
const maxPrompt = 1 << 20

// promptText joins the arguments. A - stands for standard input, and so does
// no argument at all where that is no terminal.
func promptText(c *cobra.Command, args []string) (string, error) {
	if len(args) == 0 && !isTerminal(c.InOrStdin()) {
		args = []string{"-"}
	}
	words := slices.Clone(args)
	if i := slices.Index(words, "-"); i >= 0 {
		b, err := io.ReadAll(io.LimitReader(input(c, "the prompt"), maxPrompt+1))
		if err != nil {
			return "", fmt.Errorf("reading the prompt: %w", err)
		}
		if len(b) > maxPrompt {
			return "", usageError{fmt.Errorf("the prompt is larger than %d MiB; put it into a file and name that", maxPrompt>>20)}
		}
		words[i] = "\n" + string(b)
	}
	prompt := strings.TrimSpace(strings.Join(words, " "))
	if prompt == "" {
		return "", usageError{errors.New("nothing to do: say what in the prompt\nTry: whet run --help")}
	}
	return prompt, nil
}
