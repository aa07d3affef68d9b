package remote

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/whet-dev/whet/task"
)

const aCommit = "0123456789abcdef0123456789abcdef01234567"

// A run in the queue is taken only if it is one: whoever may write to the
// server can send anything.
func TestParseOrder(t *testing.T) {
	id := "tsk_" + strings.Repeat("0", 26)
	good := func() order {
		o := order{Prompt: "go", Tree: base{Commit: aCommit, Head: aCommit, Sub: "a/b"}}
		o.Task.ID, o.Task.Gen = id, 2
		return o
	}
	for _, c := range []struct {
		name, subject string
		change        func(*order)
		want          string
	}{
		{"good", "", func(*order) {}, ""},
		{"top of the repository", "", func(o *order) { o.Tree.Sub = "." }, ""},
		{"no history", "", func(o *order) { o.Tree.Head = "" }, ""},
		{"generation 0", "whet.run." + id + ".0", func(o *order) { o.Task.Gen = 0 }, "generation 0"},
		{"another generation", "whet.run." + id + ".3", func(*order) {}, "it is about generation 2"},
		{"another task", "whet.run.tsk_" + strings.Repeat("1", 26) + ".2", func(*order) {}, "it is about generation 2"},
		{"an ID that is a path", "", func(o *order) { o.Task.ID = "tsk_../../../../../../../etc/x" }, "is no task ID"},
		{"an ID with wildcards", "", func(o *order) { o.Task.ID = "tsk_*.>" }, "is no task ID"},
		{"a directory elsewhere", "", func(o *order) { o.Tree.Sub = "../x" }, "leads out of the repository"},
		{"an absolute directory", "", func(o *order) { o.Tree.Sub = "/etc" }, "leads out of the repository"},
		{"an option for a commit", "", func(o *order) { o.Tree.Commit = "--upload-pack=touch x" }, "are no commits"},
		{"an option for a head", "", func(o *order) { o.Tree.Head = "-x" }, "are no commits"},
		{"no commit", "", func(o *order) { o.Tree.Commit = "" }, "are no commits"},
	} {
		o := good()
		c.change(&o)
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		subject := c.subject
		if subject == "" {
			subject = runSubject(&o.Task)
		}
		_, err = parseOrder(subject, b)
		if got := text(err); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	for _, garbage := range []string{"", "null", "[]", "{", "\x00\xff", `{"task":{"id":5}}`, strings.Repeat("[", 1<<20)} {
		if _, err := parseOrder("whet.run.x.1", []byte(garbage)); err == nil {
			t.Errorf("%.20q was taken", garbage)
		}
	}
	if _, err := parseOrder("whet.run.x.1", make([]byte, maxOrder+1)); text(err) != "it has 4194305 bytes" {
		t.Errorf("too large: %v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// No live message tells of an end.
func TestParseLive(t *testing.T) {
	subject := liveSubjects + "tsk_" + strings.Repeat("0", 26)
	b, err := json.Marshal(live{Gen: 1, Look: task.Look{Live: task.LiveBusy, End: task.Done, Text: "done"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, l, err := parseLive(subject, b); err != nil || l.Look.Ended() || l.Look.Live != task.LiveBusy {
		t.Errorf("%+v, %v", l, err)
	}
	for _, bad := range [][2]string{{subject, "{"}, {subject, strings.Repeat(" ", maxLive+1)}, {liveSubjects + "x", "{}"}, {"", "{}"}} {
		if _, _, err := parseLive(bad[0], []byte(bad[1])); err == nil {
			t.Errorf("%s, %.20q was taken", bad[0], bad[1])
		}
	}
}

// What a worker is told names nothing of the runner's machine.
func TestOrderOf(t *testing.T) {
	r := task.Run{Notes: []task.Note{{ID: "n", Text: "mind"}}, Task: task.Task{
		ID: "tsk_" + strings.Repeat("0", 26), Parent: "secret-session", Dir: "/home/me", Tree: "/home/me", BaseURL: "http://inside",
		Agent: "fixer", Model: "p/m", Prompt: "the <prompt>", Allow: []string{"bash"}, Writes: true, Job: task.New(),
	}}
	b, err := orderOf(r, base{Commit: aCommit, Sub: "."})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"secret-session", "/home/me", "http://inside"} {
		if strings.Contains(string(b), secret) {
			t.Errorf("it says %s: %s", secret, b)
		}
	}
	o, err := parseOrder(runSubject(&r.Task), b)
	if err != nil || o.Prompt != "the <prompt>" || o.Task.Agent != "fixer" || o.Task.Model != "p/m" || !o.Task.Writes || len(o.Notes) != 1 || o.Task.Gen != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

func FuzzParseOrder(f *testing.F) {
	f.Add("whet.run.x.1", []byte(`{"task":{"id":"x","gen":1},"tree":{"commit":"`+aCommit+`","sub":"."}}`))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		if o, err := parseOrder(subject, data); err == nil && (subject != runSubject(&o.Task) || strings.Contains(o.Tree.Sub, "..") && strings.HasPrefix(o.Tree.Sub, "..")) {
			t.Errorf("%+v", o)
		}
	})
}
