package main

import (
	"context"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/cmd/internal/cli"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/kit"
	"github.com/whet-dev/whet/kit/guards"
	"github.com/whet-dev/whet/kit/packages"
	"github.com/whet-dev/whet/market"
)

// packagesOf returns the packages in force for a project, and a line for each
// thing that is wrong with them. Their formatters go below the person's.
func packagesOf(ctx context.Context, l *config.Loaded[kit.Config], dir, worktree string) (packages.Set, []string) {
	if l.Inert {
		return nil, nil
	}
	all, notes, err := market.Active(ctx, kit.Where(dir, worktree))
	if err != nil {
		return nil, []string{"the marketplace's packages are left out: " + err.Error()}
	}
	var problems, more []string
	for _, n := range notes {
		problems = append(problems, n.ID+": "+n.Code+": "+n.Text)
	}
	l.Config.Formatter, more = guards.Formatters(all, l.Config.Formatter)
	return all, append(problems, more...)
}

// A guest is what the packages in force bring into one run of whet's own agent.
type guest struct {
	set     packages.Set
	session whet.Session
	log     *slog.Logger
	servers *packages.Servers
	again   int // times that a hook made the model go on
}

// maxAgain bounds how often hooks make a model go on that wants to end.
const maxAgain = 5

// begin starts the packages' servers, and puts all that they bring into o.
// Whoever calls it closes the guest. The error is a hook's refusal of the prompt.
func begin(ctx context.Context, set packages.Set, o *agent.Options, log *slog.Logger) (*guest, error) {
	g := &guest{set: set, session: o.Session, log: log}
	bring(set, o, log)
	g.servers = set.Start(ctx, packages.Starting{Version: cli.Version(), Dir: o.Session.Dir})
	o.Kit.Tools = append(slices.Clone(o.Kit.Tools), g.servers.Tools...)
	o.Inbox = g.inbox(o.Inbox)
	texts, err := g.said(ctx, packages.Event{Name: packages.SessionStart})
	if err == nil {
		var more []string
		more, err = g.said(ctx, packages.Event{Name: packages.UserPrompt, Prompt: o.Prompt})
		texts = append(texts, more...)
	}
	for _, t := range texts {
		o.Prompt += "\n\n" + t
	}
	return g, err
}

// inbox asks the hooks when a model that has no other mail wants to end.
func (g *guest) inbox(next func(context.Context, bool) []string) func(context.Context, bool) []string {
	return func(ctx context.Context, idle bool) []string {
		if texts := next(ctx, idle); len(texts) > 0 || !idle || g.again == maxAgain {
			return texts
		}
		texts, _ := g.said(ctx, packages.Event{Name: packages.Stop, Again: g.again > 0}) // only a prompt is refused
		g.again++
		return texts
	}
}

func (g *guest) said(ctx context.Context, e packages.Event) ([]string, error) {
	return g.set.Said(ctx, g.session, e, g.log)
}

func (g *guest) close() { g.servers.Close() }

// bring puts what packages have for every agent into o: texts, skills, and
// hooks around calls.
func bring(set packages.Set, o *agent.Options, log *slog.Logger) {
	if len(set) == 0 {
		return
	}
	k := *o.Kit
	k.Guards = append([]whet.Guard{set.Guard(log)}, k.Guards...) // the last to see a result: a formatter is done by then
	set.Equip(&k, &o.Role)
	o.Kit, o.Also = &k, set.Prompt(o.Role)
}

// call turns a prompt that calls a package's command into what that says.
func (o *runFlags) call(c *cobra.Command, set packages.Set, prompt string) string {
	command, ok := set.Command(prompt)
	if !ok {
		return prompt
	}
	if command.Agent != "" && !c.Flags().Changed("agent") {
		o.role = command.Agent
	}
	if command.Model != "" && !c.Flags().Changed("model") {
		o.wish.Model = command.Model
	}
	return command.Prompt
}

// roleFor finds who works: one of whet's own, or any specialist of the project.
func roleFor(name, dir string) (agent.Role, error) {
	role, err := agent.FindRole(name)
	if err == nil {
		return role, nil
	}
	if r, err := specialist(name, dir); err == nil {
		return r, nil
	}
	return role, usageError{err}
}
