package hook_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/host/hook"
)

// The table in each host's page says what the dialect can: it is made by asking
// the dialect, not by declaring.
func TestHostPages(t *testing.T) {
	for _, d := range hook.Dialects() {
		page := filepath.Join("..", "..", "docs", "hosts", d.Name+".md")
		const begin, end = "<!-- what whet does here: generated -->\n", "<!-- end of the table -->"
		b, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		head, rest, ok1 := strings.Cut(string(b), begin)
		_, tail, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Errorf("%s lacks the markers %q and %q", page, begin, end)
			continue
		}
		want := head + begin + "\n" + table(t, d) + "\n" + end + tail
		if os.Getenv("WHET_UPDATE") != "" {
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, string(b)); diff != "" {
			t.Errorf("%s is stale; run WHET_UPDATE=1 go test ./host/hook\n%s", page, diff)
		}
	}
}

const none = "–"

func table(t *testing.T, d *hook.Dialect) string {
	c := abilities(t, d)
	tools := func(ok bool, fit func(name string) bool) string {
		var names []string
		for name := range d.Tools {
			if ok && fit(name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if names == nil {
			return none
		}
		return strings.Join(names, ", ")
	}
	yes := func(ok bool, text string) string {
		if ok {
			return text
		}
		return none
	}
	formatted := tools(c.after, func(n string) bool { return d.Tools[n].Edits })
	if formatted != none && !c.note {
		formatted += "; the agent can't be told"
	}
	var w strings.Builder
	fmt.Fprintf(&w, "| what whet does | here |\n|---|---|\n")
	for _, row := range [][2]string{
		{"stops a search over a path that isn't there", tools(c.refuse, func(n string) bool {
			return slices.Contains([]string{"grep", "glob"}, d.Tools[n].Name) && d.Tools[n].PathArg != ""
		})},
		{"rescues a stale patch before it is applied, refuses one that leaves the project", tools(c.rewrite && c.refuse, func(n string) bool { return d.Tools[n].PatchArg != "" })},
		{"formats edited files, and says so", formatted},
		{"tells the agent that it repeats itself", yes(c.results && c.note, "all tools that the host reports")},
		{"refuses the sixth identical call", tools(c.results && c.refuse, func(n string) bool {
			return slices.Contains([]string{"read", "grep", "glob"}, d.Tools[n].Name)
		})},
		{"tells the agent of the ends of background tasks", ends(d, c)},
		{"keeps sub-agents apart", yes(c.agents, "by their id")},
		{"its own tools, guarded where they are served", "by MCP, `whet mcp`"},
	} {
		fmt.Fprintf(&w, "| %s | %s |\n", row[0], row[1])
	}
	return w.String()
}

// ends says where a host's agent hears that a task has ended.
func ends(d *hook.Dialect, c can) string {
	var where []string
	for _, w := range []struct {
		ok   bool
		text string
	}{
		{c.results && c.note, "with the next tool's result"},
		{d.Prompts, "with the person's next message, and the board too"},
		{d.Stops, "when it ends its turn, which it then doesn't"},
	} {
		if w.ok {
			where = append(where, w.text)
		}
	}
	if where == nil {
		return "with the next result of whet's own tools"
	}
	return strings.Join(where, "; ")
}

// can is what a host can be told, and tells.
type can struct{ refuse, rewrite, after, results, note, agents bool }

func abilities(t *testing.T, d *hook.Dialect) (c can) {
	t.Helper()
	sample := func(phase hook.Phase) (hook.Event, []byte) {
		b := d.Sample(hook.Sample{Phase: phase, Tool: anEdit(d), Args: json.RawMessage(`{"path":"a"}`), Result: "THE RESULT", Dir: "/p", Agent: "AGENT"})
		if b == nil {
			return hook.Event{}, nil
		}
		e, err := d.Decode(b)
		if err != nil {
			t.Fatalf("%s: its own sample: %v\n%s", d.Name, err, b)
		}
		if e.Phase != phase {
			t.Fatalf("%s: its own sample is of phase %d, want %d\n%s", d.Name, e.Phase, phase, b)
		}
		return e, b
	}
	said := func(e hook.Event, r hook.Reply) string {
		var w bytes.Buffer
		err := d.Encode(&w, e, r)
		if blocked := (*hook.Blocked)(nil); errors.As(err, &blocked) {
			return blocked.Reason
		}
		if err != nil {
			t.Fatal(err)
		}
		return w.String()
	}
	before, _ := sample(hook.Before)
	c.refuse = strings.Contains(said(before, hook.Reply{Refuse: "THE REASON"}), "THE REASON")
	c.rewrite = strings.Contains(said(before, hook.Reply{Args: json.RawMessage(`"THE ARGS"`)}), "THE ARGS")
	c.agents = strings.HasSuffix(before.Call.Session.ID, "/AGENT")
	if after, raw := sample(hook.After); raw != nil {
		c.after = true
		c.results = strings.Contains(after.Result.Text, "THE RESULT")
		c.note = strings.Contains(said(after, hook.Reply{Note: "THE NOTE"}), "THE NOTE")
	}
	return c
}

// anEdit is the first of the host's editing tools.
func anEdit(d *hook.Dialect) string {
	var names []string
	for name, tool := range d.Tools {
		if tool.Edits {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[0]
}
