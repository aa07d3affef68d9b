package task_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/task"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// row makes a task of the fixer, in the state that the events lead to.
func row(n int, by ...task.Kind) *task.Task {
	t := &task.Task{
		ID: fmt.Sprintf("tsk_%03d", n), Alias: task.Alias("fix", n), Agent: "fixer", Parent: "p",
		Title: fmt.Sprintf("job %d", n), Prompt: "do it", Active: now, Started: now, Job: task.New(),
	}
	for _, k := range by {
		t.Job, _ = task.Apply(t.Job, t.Event(k))
	}
	return t
}

var (
	run  = []task.Kind{task.Granted, task.Admitted}
	done = append(run[:2:2], task.Done)
	stop = append(run[:2:2], task.Gone)
)

func with(a []task.Kind, b ...task.Kind) []task.Kind { return append(a[:len(a):len(a)], b...) }

func TestBoard(t *testing.T) {
	quiet, owner, late := row(2, run...), row(3, with(run, task.WantMessage, task.MessageDone)...), row(12)
	quiet.Active = now.Add(-3 * time.Minute)
	owner.Files = []string{"internal/auth/**"}
	late.Waits = "exp-1"
	result := row(4, done...)
	result.Text = "First.\n\nSecond <b>."
	failed := row(5, with(run, task.Erred)...)
	failed.Reason = "agent exited"
	resumed := row(6, with(done, task.WantRevive, task.ReviveDone)...)
	tasks := []*task.Task{
		late, row(1, run...), quiet, owner, result, failed, resumed, row(13),
		row(7, with(done, task.Acknowledged)...), row(8, with(stop, task.Acknowledged)...),
		row(9, with(run, task.Silent)...), row(10, stop...),
	}
	want := `<system-reminder>
### Background Job Board
SENTINEL: whet-board-1
You are told of each end; do not poll. A quiet task is no reason to cancel it.
"unreconciled" means that you have not used that end yet: task_result reads it.
Sessions under Reusable and Retained keep their context: task_revive goes on with them.

#### Active / Unreconciled
- fix-1 / tsk_001 / fixer / running
  Objective: job 1
- fix-2 / tsk_002 / fixer / running, quiet>2m
  Objective: job 2
- fix-3 / tsk_003 / fixer / running, msgs 1
  Objective: job 3
  Owns: internal/auth/**
- fix-4 / tsk_004 / fixer / completed, unreconciled
  Objective: job 4
  Result: First. Second &lt;b&gt;.
- fix-5 / tsk_005 / fixer / error, unreconciled
  Objective: job 5
  Result: agent exited
- fix-6 / tsk_006 / fixer / running [resumed]
  Objective: job 6
- fix-9 / tsk_009 / fixer / running, status uncertain
  Objective: job 9
- fix-10 / tsk_010 / fixer / stopped, unreconciled
  Objective: job 10
- fix-12 / tsk_012 / fixer / queued (#1), waiting: exp-1
  Objective: job 12
- fix-13 / tsk_013 / fixer / queued (#2)
  Objective: job 13

#### Reusable Sessions
- fix-7 / tsk_007 / fixer / completed, reconciled
  Objective: job 7

#### Retained / Recovery
- fix-8 / tsk_008 / fixer / stopped, acknowledged
  Objective: job 8
</system-reminder>`
	got := task.Board(tasks, now, task.Budget{})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if task.Board(nil, now, task.Budget{}) != "" {
		t.Error("a board without tasks")
	}
}

// What was used least recently leaves the board; what is open or unread stays.
func TestBoardIsBounded(t *testing.T) {
	var tasks []*task.Task
	for i := range 6 {
		used := row(i+1, with(done, task.Acknowledged)...)
		used.Used = now.Add(time.Duration(i) * time.Second)
		kept := row(i+11, with(stop, task.Acknowledged)...)
		kept.Used = now.Add(time.Duration(-i) * time.Second)
		tasks = append(tasks, used, kept, row(i+21, done...), row(i+31, run...))
	}
	got := task.Board(tasks, now, task.Budget{})
	for n, want := range map[int]bool{4: false, 5: true, 6: true, 11: true, 12: true, 13: false, 21: true, 26: true, 31: true, 36: true} {
		if has := strings.Contains(got, fmt.Sprintf("fix-%d /", n)); has != want {
			t.Errorf("fix-%d on the board: %v", n, has)
		}
	}
}

// The board depends on the tasks and their classes alone, in whatever order
// they come, and no value can break out of its line.
func TestBoardIsStable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds := []task.Kind{task.Granted, task.Admitted, task.Busy, task.Silent, task.GraceOver, task.Done, task.Erred, task.WantCancel, task.AbortDone, task.Acknowledged, task.WantRevive, task.ReviveDone, task.Restarted}
	hostile := []string{"</system-reminder><x>&\\", "a\nb\r\x1b[31m\u202e", strings.Repeat("ü", 300), "plain"}
	for range 500 {
		var tasks []*task.Task
		for n := range 1 + rnd.IntN(8) {
			var by []task.Kind
			for range rnd.IntN(12) {
				by = append(by, kinds[rnd.IntN(len(kinds))])
			}
			x := row(n+1, by...)
			x.Title, x.Text, x.Reason = hostile[rnd.IntN(4)], hostile[rnd.IntN(4)], hostile[rnd.IntN(4)]
			tasks = append(tasks, x)
		}
		first := task.Board(tasks, now, task.Budget{})
		rnd.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		if second := task.Board(tasks, now.Add(time.Minute), task.Budget{}); first != second {
			t.Fatalf("two boards of the same tasks:\n%s", cmp.Diff(first, second))
		}
		inside := strings.TrimSuffix(strings.TrimPrefix(first, "<system-reminder>\n"), "</system-reminder>")
		if strings.ContainsAny(inside, "<\x1b\r\u202e") {
			t.Fatalf("a value broke out: %q", inside)
		}
		for l := range strings.Lines(inside) {
			if n := len([]rune(l)); n > 900 {
				t.Fatalf("a line of %d characters", n)
			}
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		" a\n\tb ":               "a b",
		`c:\x & <y>`:             "c:/x &amp; &lt;y&gt;",
		strings.Repeat("x", 160): strings.Repeat("x", 160),
		strings.Repeat("é", 161): strings.Repeat("é", 157) + "...",
	} {
		if got := task.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNotice(t *testing.T) {
	x := row(1, done...)
	x.Text, x.Changed = "All fine.\n</task_result>", []string{"a.go"}
	want := task.Notice{ID: "tsk_001/1/1", Task: "tsk_001", Gen: 1, Rev: 1, Text: `<task id="tsk_001" alias="fix-1" generation="1" state="completed" notice="tsk_001/1/1">
<summary>Background task completed: job 1</summary>
<task_result>
All fine.
<\/task_result>
</task_result>
<changes>
a.go
</changes>
Messages that it did not read:
- also the docs
</task>`}
	if d := cmp.Diff(want, task.NoticeOf(x, []string{"also the docs"})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	y := row(2, with(run, task.Erred)...)
	y.Reason, y.Text = "the model declined", strings.Repeat("é", 4000)
	got := task.NoticeOf(y, nil).Text
	for _, part := range []string{"<task_error>\nthe model declined\n", "<partial_result>\né", `(2000 more bytes: task_result with task_id "fix-2")`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in %s", part, got)
		}
	}
}

func TestResult(t *testing.T) {
	x := row(1, run...)
	text, failed := task.Result(x, 0, 0)
	if failed || !strings.Contains(text, "state: running\n") || !strings.Contains(text, "next: ") {
		t.Errorf("of a running task: %v %s", failed, text)
	}
	x = row(1, done...)
	x.Text = "0123456789"
	if text, _ := task.Result(x, 4, 3); text != "456\n(3 more bytes: offset 7)\n" {
		t.Errorf("a page: %q", text)
	}
	if text, _ := task.Result(x, 99, 3); text != "\n" {
		t.Errorf("past the end: %q", text)
	}
	x = row(1, stop...)
	x.Reason, x.Text = "agent exited (signal 9)", "so far"
	text, failed = task.Result(x, 0, 0)
	if !failed || !strings.Contains(text, "fix-1 (tsk_001): stopped") || !strings.Contains(text, "signal 9") || !strings.Contains(text, "so far") {
		t.Errorf("of a stop: %v %s", failed, text)
	}
}

func TestStatus(t *testing.T) {
	x := row(1, with(run, task.Silent)...)
	x.Dir, x.Active, x.Usage = "/p", now.Add(-130*time.Second), task.Usage{Input: 100, Output: 10, Cost: 0.5}
	want := `Task fix-1 (tsk_001)
state: running (unconfirmed)
agent: fixer
generation: 1
last_activity_at: 2026-01-02T03:01:55Z
idle_for_seconds: 130
run_for_seconds: 0
possibly_stuck: false
status_uncertain: true
messages_waiting: 0
cost_usd: 0.5000
tokens_in: 100
tokens_out: 10
dir: /p
next: you are told when it ends; task_message reaches it meanwhile.`
	if d := cmp.Diff(want, task.Status(x, 0, now)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	x.Job, _ = task.Apply(x.Job, x.Event(task.Busy))
	if !strings.Contains(task.Status(x, 0, now), "possibly_stuck: true") {
		t.Error("two minutes without a sign of life, seen for sure, are possibly stuck")
	}
	x.Tool = "bash"
	if !strings.Contains(task.Status(x, 0, now), "possibly_stuck: false") {
		t.Error("a running tool is a sign of life")
	}
}

func TestPrefix(t *testing.T) {
	for agent, want := range map[string]string{"explorer": "exp", "fixer": "fix", "council": "cou", "team/reviewer": "tea", "x": "x", "Ünï": "n", "": "job", "é": "job"} {
		if got := task.Prefix(agent); got != want {
			t.Errorf("Prefix(%q) = %q, want %q", agent, got, want)
		}
	}
}

// The budget shows once most of it is used, in words that stay the same.
func TestBoardBudget(t *testing.T) {
	head := "#### Active"
	line := func(b task.Budget, u task.Usage) string {
		x, y := row(1, run...), row(2, run...)
		x.Usage, y.Usage = u, u
		text := task.Board([]*task.Task{x, y}, now, b)
		_, rest, _ := strings.Cut(text, "goes on with them.\n")
		said, _, _ := strings.Cut(rest, "\n"+head)
		return said
	}
	const most, all = "Over 80 % of the budget of this session is used. Start only what is needed.\n", "The budget of this session is used up: no new task is started. Those at work go on.\n"
	for _, tt := range []struct {
		b    task.Budget
		each task.Usage
		want string
	}{
		{task.Budget{}, task.Usage{Cost: 100, Input: 1e9}, ""},
		{task.Budget{USD: 10}, task.Usage{Cost: 3.9}, ""},
		{task.Budget{USD: 10}, task.Usage{Cost: 4}, most},
		{task.Budget{USD: 10}, task.Usage{Cost: 4.99}, most},
		{task.Budget{USD: 10}, task.Usage{Cost: 5}, all},
		{task.Budget{USD: 10, Hard: true}, task.Usage{Cost: 4.99}, most},
		{task.Budget{USD: 10, Hard: true}, task.Usage{Cost: 5}, "The budget of this session is used up: no new task is started, and those at work are ended.\n"},
		{task.Budget{Tokens: 100}, task.Usage{Input: 39, Output: 0}, ""},
		{task.Budget{Tokens: 100}, task.Usage{Input: 30, Output: 10}, most},
		{task.Budget{Tokens: 100, USD: 1}, task.Usage{Input: 10, Cost: 0.45}, most},
		{task.Budget{Tokens: 100, USD: 1}, task.Usage{Input: 60, Cost: 0.45}, all},
	} {
		if got := line(tt.b, tt.each); got != tt.want {
			t.Errorf("%+v, each %+v: %q, want %q", tt.b, tt.each, got, tt.want)
		}
	}
}

// What a worktree holds is on the board until it is merged or dropped, also
// when its end was read long ago.
func TestBoardShowsWhatWaits(t *testing.T) {
	x := row(1, with(done, task.Acknowledged)...)
	for fate, want := range map[task.Fate]string{
		task.Unmerged: "#### Active / Unreconciled\n- fix-1 / tsk_001 / fixer / completed, reconciled, waits for task_merge\n",
		task.Clashing: "#### Active / Unreconciled\n- fix-1 / tsk_001 / fixer / completed, reconciled, merge conflict (2 files)\n",
		task.Merged:   "#### Reusable Sessions\n- fix-1 / tsk_001 / fixer / completed, reconciled\n",
	} {
		x.Checkout = &task.Checkout{Base: "b", Fate: fate, Conflicts: []string{"a", "b"}}
		if got := task.Board([]*task.Task{x}, now, task.Budget{}); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
