package market

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/market/store"
)

// ToolName is what the tool is called.
const ToolName = "marketplace"

const toolDoc = `Local packages of agents, skills and more
Installs packages from a directory or an archive on this machine; nothing is ever fetched. Actions and what they take:
install (whet's own format), import (any known format), update: path
show, enable, disable, remove: packageId. verify: packageId or nothing. list, status: nothing
enable and disable also take scope, remove also takes force.
What changes takes effect in the next session. What a package would run stays off until a person trusts it, which no action of this tool does.`

type toolIn struct {
	Action string `json:"action" doc:"what to do" enum:"install,import,list,show,verify,update,enable,disable,remove,status"`
	Path   string `json:"path,omitempty" doc:"of install, import, update: a local directory or archive; PATH#NAME chooses one plugin of a catalogue" alias:"source,file" eg:"./acme-reviewer.zip"`
	ID     string `json:"packageId,omitempty" doc:"of show, verify, enable, disable, remove: publisher/name" alias:"id,package,name" eg:"acme/reviewer"`
	Force  *bool  `json:"force,omitempty" doc:"of remove: also take out what the configuration says of it"`
	Scope  string `json:"scope,omitempty" doc:"of enable, disable: default project" enum:"project,user"`
}

// toolWait is how long the tool waits for another process that changes the store.
const toolWait = 10 * time.Second

// Tool returns the tool for an orchestrator. The marketplace is that of a
// project, as open returns it.
func Tool(open func(dir, worktree string) Market) whet.Tool {
	return whet.New(ToolName, toolDoc, func(ctx context.Context, c *whet.Call, in toolIn) (Outcome, error) {
		o, err := call(ctx, c, in, open)
		if e, ok := coded(in.Action, err).(*Error); ok {
			o = Outcome{Action: in.Action, Error: e, Text: e.Error()}
			err = nil
		}
		return o, err
	})
}

func call(ctx context.Context, c *whet.Call, in toolIn, open func(dir, worktree string) Market) (Outcome, error) {
	if err := orchestrator(c.Session); err != nil {
		return Outcome{}, err
	}
	if err := in.check(c.Args); err != nil {
		return Outcome{}, err
	}
	if err := ask(ctx, c.Session, in); err != nil {
		return Outcome{}, err
	}
	m := open(c.Session.Dir, c.Session.Worktree)
	m.Wait = toolWait
	m.Live = func() ([]Live, bool) { return recall(c.Session) }
	return m.do(ctx, in)
}

func (m *Market) do(ctx context.Context, in toolIn) (Outcome, error) {
	o, err := m.run(ctx, in)
	// Of a change that needs no reload nothing is to be said.
	if o.Changed && o.ReloadRequired != "false" {
		o.Text += "\nreload_required: " + o.ReloadRequired
	}
	return o, err
}

func (m *Market) run(ctx context.Context, in toolIn) (Outcome, error) {
	switch in.Action {
	case "install":
		return m.Install(ctx, in.Path)
	case "import":
		return m.Import(ctx, in.Path)
	case "update":
		return m.Update(ctx, in.Path)
	case "show":
		return m.Show(in.ID, false)
	case "verify":
		return m.Verify(ctx, in.ID)
	case "enable":
		return m.Enable(ctx, in.ID, in.Scope)
	case "disable":
		return m.Disable(ctx, in.ID, in.Scope)
	case "remove":
		return m.Remove(ctx, in.ID, in.Force != nil && *in.Force, false)
	case "list":
		return m.List()
	}
	return m.Status()
}

// orchestrator refuses specialists, and callers that don't say who they are:
// packages change what every agent is told. In OpenCode the agent that a session
// begins with orchestrates.
func orchestrator(s whet.Session) error {
	switch {
	case s.Host == "opencode" && s.Agent == "build" && s.ID != "":
		return nil
	case s.Agent != "" && s.Agent != "orchestrator":
		return errorf(NotOrchestrator, "only the orchestrator manages packages, and you are the %s; report what is needed, a person can use: whet market", s.Agent)
	case s.Agent == "" || s.ID == "":
		return errorf(NotOrchestrator, "only an orchestrator's session manages packages, and this call names none; a person can use: whet market")
	}
	return nil
}

// takes lists the fields of each action besides action itself; ! marks those
// that it can't do without.
func takes(action string) []string {
	switch action {
	case "install", "import", "update":
		return []string{"path!"}
	case "show":
		return []string{"packageId!"}
	case "verify":
		return []string{"packageId"}
	case "enable", "disable":
		return []string{"packageId!", "scope"}
	case "remove":
		return []string{"packageId!", "force"}
	}
	return nil
}

func (in toolIn) check(raw json.RawMessage) error {
	given := map[string]bool{"path": in.Path != "", "packageId": in.ID != "", "force": in.Force != nil, "scope": in.Scope != ""}
	want := takes(in.Action)
	for _, field := range []string{"path", "packageId", "force", "scope"} {
		must := slices.Contains(want, field+"!")
		switch {
		case given[field] && !must && !slices.Contains(want, field):
			return errorf(InvalidArguments, "field %q does not belong to action %q", field, in.Action)
		case must && !given[field]:
			return errorf(InvalidArguments, "action %q needs field %q", in.Action, field)
		}
	}
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all) // it was decoded before
	for name := range all {
		plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
		if !slices.Contains([]string{"action", "path", "source", "file", "packageid", "id", "package", "name", "force", "scope"}, plain) {
			return errorf(InvalidArguments, "field %q does not belong to action %q", name, in.Action)
		}
	}
	return nil
}

// ask asks the person before a change, where the host has a way to ask. Other
// hosts ask before they call.
func ask(ctx context.Context, s whet.Session, in toolIn) error {
	if s.Ask == nil || slices.Contains([]string{"list", "show", "verify", "status"}, in.Action) {
		return nil
	}
	if err := s.Ask(ctx, whet.Permission{Action: ToolName, Subject: in.Action + " " + in.Path + in.ID}); err != nil {
		return errorf(Denied, "%v", err)
	}
	return nil
}

const liveName = "market-live"

// Begin notes what is in force as a session begins, so that the tool can say
// later whether that has changed, and keeps those files until this process ends.
func Begin(s whet.Session, w Where) error {
	was, err := Snapshot(w)
	if err != nil {
		return err
	}
	if err := Remember(s, was); err != nil || len(was) == 0 {
		return err
	}
	dir, err := store.Place(w.getenv)
	if err != nil {
		return err
	}
	pins := make([]store.Pin, len(was))
	for i, l := range was {
		pins[i] = store.Pin{ID: l.ID, Tree: l.Tree}
	}
	return (&store.Store{Dir: dir}).Pin(pins)
}

// Remember gives a session what was in force when it began.
func Remember(s whet.Session, was []Live) error {
	return whet.Update(s, liveName, func(v *[]Live) error {
		if *v == nil {
			*v = was
		}
		return nil
	})
}

func recall(s whet.Session) (was []Live, ok bool) {
	_ = whet.Update(s, liveName, func(v *[]Live) error { // no state is worth an error
		was, ok = *v, *v != nil
		return nil
	})
	return was, ok
}
