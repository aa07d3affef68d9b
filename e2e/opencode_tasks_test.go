//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet/internal/scriptmodel"
)

// launch is a step that hands out a task.
func launch(agent, title, script string) scriptmodel.Step {
	return use("task", args{"description": title, "prompt": "[[script:" + script + "]] go", "subagent_type": agent})
}

// tasksScript is what an orchestrator in OpenCode and its specialists play. The
// last steps of an orchestrator are what it says when it is woken.
var tasksScript = scriptmodel.Script{
	"end":   {launch("explorer", "Find it", "found"), say("I wait."), say("Thanks.")},
	"found": {say("Found it in a.go.")},

	"own":  {launch("general", "Look around", "seen"), say("I wait."), say("Thanks.")},
	"seen": {say("Seen.")},

	"nobody": {launch("gardener", "Dig", "found"), say("A pity.")},

	"slow":   {launch("fixer", "Mend it", "slowly"), say("It runs.")},
	"slowly": {use("bash", args{"command": "while [ ! -e told ]; do sleep 0.1; done", "description": "wait"}), say("After the note.")},
	"tell":   {use("task_message", args{"task_id": "fix-1", "message": "mind the gap"}), say("I told it."), say("Well done.")},

	"cancel": {
		launch("fixer", "Never ends", "hang"),
		use("task_cancel", args{"task_id": "fix-1", "reason": "no longer wanted"}),
		use("task_revive", args{"task_id": "fix-1", "prompt": "[[script:again]] now this"}),
		say("I wait."), say("Good."),
	},
	"hang":  {{Text: "Begun.", Hang: true}},
	"again": {say("Again.")},

	"pause":  {use("wait_for_user", args{"reason": "which one?"}), say("Waiting.")},
	"thanks": {say("Go on.")},

	"todo": {
		use("todowrite", args{"todos": []any{args{"content": "mend the roof", "status": "in_progress", "priority": "high"}}}),
		launch("explorer", "Find it", "found"), say("I wait."), say("Thanks."), say("Soon."), say("Soon."), say("Never."),
	},

	"lost": {launch("explorer", "Gets lost", "hang"), say("I wait.")},
}

// tasksServe starts OpenCode with whet in a home, for one test.
func tasksServe(t *testing.T, dir string) *serve {
	t.Helper()
	whet := whetBinary(t)
	s, err := startServe(t, openCode(t), dir, tasksScript, func(h *home) {
		h.write(filepath.Join(dir, ".config/whet/whet.jsonc"), `{"task": {"wake": {"minGapS": 1, "idleS": 2}, "stopGraceMS": 1000}}`)
		h.run(t, nil, whet, "install", "opencode", "--yes")
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// conversation is a session as the host keeps it, in JSON.
func (s *serve) conversation(t *testing.T, session string) string {
	t.Helper()
	var raw json.RawMessage
	if err := s.call("GET", "/session/"+session+"/message", nil, &raw); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// says waits until the session's conversation has a text.
func (s *serve) says(t *testing.T, session, text string) string {
	t.Helper()
	if !until(t.Context(), busyMachine, func() bool { return strings.Contains(s.conversation(t, session), text) }) {
		log, _ := os.ReadFile(filepath.Join(s.dir, "whet.log"))
		serve, _ := os.ReadFile(filepath.Join(s.dir, ".local/state/whet/tasks/serve.log"))
		t.Fatalf("%q was never said:\n%s\n%s\n%s", text, tail(s.conversation(t, session), 4000), tail(string(log), 2000), tail(string(serve), 2000))
	}
	return s.conversation(t, session)
}

var noticeID = regexp.MustCompile(`notice=\\"(tsk_\w+/\d+/\d+)\\"`)

// ends lists the notices in a conversation.
func ends(conversation string) (ids []string) {
	for _, m := range noticeID.FindAllStringSubmatch(conversation, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// acknowledged waits until nothing that ended is unread.
func (s *serve) acknowledged(t *testing.T) {
	t.Helper()
	var list string
	if !until(t.Context(), busyMachine, func() bool {
		list = s.run(t, nil, whetBinary(t), "task", "list", "--all", "--json")
		n := strings.Count(list, `"id": "tsk_`)
		return n > 0 && strings.Count(list, `"acked": true`) == n
	}) {
		t.Errorf("ends are not acknowledged:\n%s", list)
	}
}

// mailSays reports whether the runner keeps a session's mail that has a text.
func (s *serve) mailSays(text string) bool {
	files, _ := filepath.Glob(filepath.Join(s.dir, ".local/state/whet/tasks/mail/*.json"))
	return slices.ContainsFunc(files, func(f string) bool {
		b, err := os.ReadFile(f)
		return err == nil && strings.Contains(string(b), text)
	})
}

// An OpenCode session orchestrates: specialists are its child sessions in this
// very host, and it is told of each end once, also when it rests.
func TestPeerOpenCodeTasks(t *testing.T) {
	dir := t.TempDir()
	s := tasksServe(t, dir)
	defer func() { s.cancel() }()
	defer s.run(t, nil, whetBinary(t), "serve", "--stop")

	t.Run("wakes", func(t *testing.T) {
		root, parts := s.prompt(t, "", "plain", "end")
		wants(t, parts[0].State.Output, `alias="exp-1"`, "running")
		wants(t, asked(s.model, "end")[0], `"name":"task"`, `"name":"task_cancel"`)
		lacks(t, asked(s.model, "end")[0], `"name":"wait_for_background_tasks"`)
		got := s.says(t, root, "Thanks.")
		if ids := ends(got); len(ids) != 1 {
			t.Errorf("told: %q", ids)
		}
		wants(t, got, "Found it in a.go.", `"synthetic":true`)
		var children []struct{ Title string }
		if err := s.call("GET", "/session/"+root+"/children", nil, &children); err != nil || len(children) != 1 || children[0].Title != "Find it" {
			t.Errorf("children: %+v, %v", children, err)
		}
		child := asked(s.model, "found")
		wants(t, child[0], `"name":"grep"`)
		lacks(t, child[0], `"name":"task"`, `"name":"task_cancel"`, `"name":"wait_for_user"`, `"name":"edit"`)
		s.acknowledged(t)
	})
	t.Run("the host's own agents", func(t *testing.T) {
		root, _ := s.prompt(t, "", "plain", "own")
		wants(t, s.says(t, root, "Thanks."), "Seen.")
		_, parts := s.prompt(t, "", "plain", "nobody")
		wants(t, parts[0].State.Error, `OpenCode has no agent "gardener"; it has `, "general", "explorer, librarian")
	})
	t.Run("message", func(t *testing.T) {
		root, _ := s.prompt(t, "", "plain", "slow")
		if !until(t.Context(), busyMachine, func() bool { return len(asked(s.model, "slowly")) > 0 }) {
			t.Fatal("the specialist never began")
		}
		s.prompt(t, root, "plain", "tell")
		s.write("told", "")
		got := s.says(t, root, "Well done.")
		wants(t, got, "Message queued for fix-1", "After the note.")
		if ids := ends(got); len(ids) != 1 {
			t.Errorf("told: %q", ids)
		}
		wants(t, last(t, s.model, "slowly"), "mind the gap")
		wants(t, last(t, s.model, "tell"), "### Background Job Board", "fix-1 /") // with the person's words
	})
	t.Run("cancel and revive", func(t *testing.T) {
		root, parts := s.prompt(t, "", "plain", "cancel")
		if len(parts) != 3 {
			t.Fatalf("%+v", parts)
		}
		wants(t, parts[1].State.Output, "state: cancelled")
		wants(t, parts[2].State.Output, "status: started", "generation: 2")
		got := s.says(t, root, "Good.")
		wants(t, got, "Again.")
		if ids := ends(got); !slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(id, "/2/") }) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
			t.Errorf("told: %q", ids)
		}
		s.acknowledged(t)
	})
	t.Run("a person ends the pause", func(t *testing.T) {
		root, parts := s.prompt(t, "", "plain", "pause")
		wants(t, parts[0].State.Output, "state: waiting_for_user")
		waiting := func() bool { return s.mailSays(`"waiting":true`) }
		if !until(t.Context(), 10*time.Second, waiting) {
			t.Fatal("nothing waits")
		}
		turns := s.turns(t, root)
		if err := s.call("POST", "/session/"+root+"/prompt_async", map[string]any{"parts": []any{
			map[string]any{"type": "text", "text": "[[script:thanks]] a reminder", "synthetic": true},
		}}, nil); err != nil {
			t.Fatal(err)
		}
		if !until(t.Context(), busyMachine, func() bool { return s.turns(t, root) > turns }) || !waiting() {
			t.Error("what no person wrote ended the pause")
		}
		s.prompt(t, root, "plain", "thanks")
		if !until(t.Context(), busyMachine, func() bool { return !waiting() }) {
			t.Error("a person wrote, and it still waits")
		}
	})
	t.Run("unfinished work", func(t *testing.T) {
		root := s.send(t, "", "plain", "todo") // it doesn't rest for long
		nudges := func() int { return strings.Count(s.conversation(t, root), "You have been at rest") }
		if !until(t.Context(), busyMachine, func() bool { return nudges() == 2 }) {
			t.Fatalf("woken %d times", nudges())
		}
		time.Sleep(4 * time.Second) // twice the time after which it would be a third time
		if n := nudges(); n != 2 {
			t.Errorf("woken %d times for the same", n)
		}
	})
	t.Run("the host ends", func(t *testing.T) {
		told, _ := s.prompt(t, "", "plain", "end")
		before := ends(s.says(t, told, "Thanks."))
		begun := len(asked(s.model, "hang"))
		root, _ := s.prompt(t, "", "plain", "lost")
		if !until(t.Context(), busyMachine, func() bool { return len(asked(s.model, "hang")) > begun }) {
			t.Fatal("the specialist never began")
		}
		s.cancel() // SIGKILL
		s = tasksServe(t, dir)
		got := s.says(t, root, "notice=") // it is told by a wake
		wants(t, got, "stopped without an end")
		time.Sleep(2 * time.Second)
		if ids := ends(s.conversation(t, root)); len(ids) != 1 {
			t.Errorf("told: %q", ids)
		}
		if after := ends(s.conversation(t, told)); !slices.Equal(before, after) {
			t.Errorf("told again: %q", after)
		}
	})
}
