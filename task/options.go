package task

import (
	"cmp"
	"fmt"
	"time"
)

// Options is the section of the configuration about background tasks. The zero
// value is the default.
type Options struct {
	Total    int            `json:"total,omitempty" doc:"tasks at work at once; more wait in a queue (default 8)" min:"0" max:"1000"`
	Writers  int            `json:"writers,omitempty" doc:"of these, tasks that may change files (default 3)" min:"0" max:"1000"`
	Backends map[string]int `json:"backends,omitempty" doc:"limits by backend: llm, acp, opencode"`
	Models   map[string]int `json:"models,omitempty" doc:"limits by model, PROVIDER/NAME, or by PROVIDER"`

	StopGraceMS int `json:"stopGraceMS,omitempty" doc:"how long a task must be seen quiet until it counts as stopped, in milliseconds (default 5000)" min:"0" max:"60000"`
	MaxRunS     int `json:"maxRunS,omitempty" doc:"end a task that runs longer than this, in seconds; 0 means never" min:"0"`
	IdleExitS   int `json:"idleExitS,omitempty" doc:"the runner ends itself after this long without work, in seconds (default 1800)" min:"0"`
	KeepDays    int `json:"keepDays,omitempty" doc:"ended tasks are kept this long (default 30)" min:"0"`

	Wake Wake `json:"wake,omitzero" doc:"when an agent that rests is told of something without being asked"`

	Allow     []string            `json:"allow,omitempty" doc:"what background tasks may do without a person's permission: bash, edit outside the project, ..." layer:"user" eg:"bash"`
	NATS      NATS                `json:"nats,omitzero" doc:"workers on other machines, and the NATS server that they share with this one" layer:"user"`
	OpenCode  OpenCode            `json:"opencode,omitzero" doc:"the backend opencode" layer:"user"`
	Ownership Ownership           `json:"ownership,omitzero" doc:"what is done so that two tasks don't change the same files"`
	Budget    Budget              `json:"budget,omitzero" doc:"no new task is started once this is used up, for each orchestrator session"`
	ACP       map[string]ACPAgent `json:"acp,omitempty" doc:"agents that speak the Agent Client Protocol, by name" layer:"user"`
	Agents    map[string]Agent    `json:"agents,omitempty" doc:"who works as which specialist" layer:"user"`
}

// Ownership says what is done so that two tasks don't change the same files.
type Ownership struct {
	OnConflict string `json:"onConflict,omitempty" doc:"a task that wants files which a task at work owns: auto (the default: it works in a git worktree of its own, or waits where that can't be had), queue (it waits), refuse (it is not launched) or allow (nobody owns anything)" enum:"auto,queue,refuse,allow"`
	Strict     bool   `json:"strict,omitempty" doc:"a task may change only the files that it was given; otherwise it is told when it changes others"`
}

// Wake says when an orchestrator that has ended its turn is made to go on. None
// of it happens for tasks that merely run, nor while it waits for a person.
type Wake struct {
	Enabled *bool `json:"enabled,omitempty" doc:"whether it is woken at all; default true. What it was not told is told with the person's next message"`
	OnEnd   *bool `json:"onEnd,omitempty" doc:"at the end of a task that it was not told of; default true"`
	IdleS   int   `json:"idleS,omitempty" doc:"after this long at rest with unfinished todos or an end that it never used, in seconds (default 300); OpenCode only" min:"0"`
	MinGapS int   `json:"minGapS,omitempty" doc:"at least this long between two, in seconds (default 30); what ends meanwhile is told together" min:"0"`
	Cap     int   `json:"cap,omitempty" doc:"how often for the same unfinished work (default 2)" min:"0"`
}

// Ends reports whether the end of a task wakes.
func (w Wake) Ends() bool { return w.on() && (w.OnEnd == nil || *w.OnEnd) }

func (w Wake) on() bool { return w.Enabled == nil || *w.Enabled }

// Idle returns after how long a rest wakes, and how often for the same reason;
// 0 means never.
func (w Wake) Idle() (after time.Duration, most int) {
	if !w.on() {
		return 0, 0
	}
	return time.Duration(cmp.Or(w.IdleS, 300)) * time.Second, cmp.Or(w.Cap, 2)
}

// MinGap returns the least time between two.
func (w Wake) MinGap() time.Duration { return time.Duration(cmp.Or(w.MinGapS, 30)) * time.Second }

// Budget bounds what the tasks of one session may use.
type Budget struct {
	USD    float64 `json:"usd,omitempty" doc:"US dollars; 0 means no limit" min:"0"`
	Tokens int     `json:"tokens,omitempty" doc:"tokens in and out; 0 means no limit" min:"0"`
	Hard   bool    `json:"hard,omitempty" doc:"also end the tasks that are at work, or wait, when it is used up"`
}

// Over says how what was used has reached the limit, "" if it hasn't.
func (b Budget) Over(used Usage) string {
	n := used.Input + used.Output
	switch {
	case b.USD > 0 && used.Cost >= b.USD:
		return fmt.Sprintf("the tasks of this session have cost $%.2f, and task.budget.usd is %.2f", used.Cost, b.USD)
	case b.Tokens > 0 && n >= int64(b.Tokens):
		return fmt.Sprintf("the tasks of this session have used %d tokens, and task.budget.tokens is %d", n, b.Tokens)
	}
	return ""
}

// Spent is what tasks have used, all together.
func Spent(tasks []*Task) (used Usage) {
	for _, t := range tasks {
		used = used.Add(t.Usage)
	}
	return used
}

// line is what the board says of the budget: nothing until most of it is used,
// and then the same until all of it is.
func (b Budget) line(used Usage) string {
	part := 0.0
	if b.USD > 0 {
		part = used.Cost / b.USD
	}
	if b.Tokens > 0 {
		part = max(part, float64(used.Input+used.Output)/float64(b.Tokens))
	}
	over := b.Over(used) != ""
	switch {
	case over && b.Hard:
		return "The budget of this session is used up: no new task is started, and those at work are ended.\n"
	case over:
		return "The budget of this session is used up: no new task is started. Those at work go on.\n"
	case part >= 0.8:
		return "Over 80 % of the budget of this session is used. Start only what is needed.\n"
	}
	return ""
}

// Agent says who works as a specialist.
type Agent struct {
	Backend string `json:"backend,omitempty" doc:"llm (the default: whet's own agent), remote (the default with nats.url: whet's own agent on another machine), opencode, or acp:NAME" eg:"acp:claude"`
	Model   string `json:"model,omitempty" doc:"PROVIDER/NAME; default is the model of whet's own agent" eg:"anthropic/NAME"`
}

// An ACPAgent is a program that speaks the Agent Client Protocol.
type ACPAgent struct {
	Command string            `json:"command,omitempty" doc:"the program" eg:"opencode"`
	Args    []string          `json:"args,omitempty" doc:"its arguments" eg:"acp"`
	Env     map[string]string `json:"env,omitempty" doc:"variables added to its environment"`
}

// OpenCode says where the OpenCode is that tasks are given to.
type OpenCode struct {
	URL         string `json:"url,omitempty" doc:"address of a server that is running; without it whet starts one of its own" eg:"http://127.0.0.1:4096"`
	PasswordEnv string `json:"passwordEnv,omitempty" doc:"environment variable that holds its password (default OPENCODE_SERVER_PASSWORD)"`
	Command     string `json:"command,omitempty" doc:"program to start (default opencode)"`
}

// NATS says where the server is by which workers on other machines get tasks.
type NATS struct {
	URL            string `json:"url,omitempty" doc:"address of a NATS server with JetStream: tls://HOST, or nats://HOST for one that isn't encrypted. With it, whet's own agent works on the workers (whet serve --worker) and not here" eg:"tls://nats.example.com"`
	TokenEnv       string `json:"tokenEnv,omitempty" doc:"environment variable that holds the token (default WHET_NATS_TOKEN)"`
	CredentialsEnv string `json:"credentialsEnv,omitempty" doc:"environment variable that holds the path of a credentials file (default WHET_NATS_CREDENTIALS)"`
	LostAfterS     int    `json:"lostAfterS,omitempty" doc:"a worker that is silent for so many seconds has lost its task to the next one (default 30); what the runner says counts" min:"1" max:"3600"`
}
