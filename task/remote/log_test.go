package remote

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/llm"
	"github.com/whet-dev/whet/task/remote/natstest"
	"github.com/whet-dev/whet/task/store"
)

func connect(t *testing.T) *conn {
	t.Helper()
	c, err := dial(natstest.Start(t).Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.nc.Close)
	return c
}

func row(gen uint32, kind, body string) store.Row {
	return store.Row{Gen: gen, Kind: kind, Body: []byte(body)}
}

func bodies(t *testing.T, c *conn, id string) (out []string) {
	t.Helper()
	rows, _, err := c.read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		out = append(out, r.Kind+" "+string(r.Body))
	}
	return out
}

// Whoever takes a run over ends the right of the one before to add anything,
// its end above all.
func TestFence(t *testing.T) {
	c := connect(t)
	const id = "tsk_1"
	open := func() *journal {
		j, err := c.openJournal(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	a := open()
	if err := a.AddRows(id, row(1, claimRow, `{"worker":"a"}`), row(1, "message", `{}`)); err != nil {
		t.Fatal(err)
	}
	b, late := open(), open()
	if err := b.AddRows(id, row(1, claimRow, `{"worker":"b"}`)); err != nil {
		t.Fatal(err)
	}
	for name, j := range map[string]*journal{"the one before": a, "one that was slower": late} {
		for range 2 {
			if err := j.AddRows(id, llm.Aborted(1)); !errors.Is(err, errFenced) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
	if err := b.AddRows(id, row(1, "end", `{"how":"done","text":"b"}`)); err != nil {
		t.Fatal(err)
	}
	want := []string{`claim {"worker":"a"}`, `message {}`, `claim {"worker":"b"}`, `end {"how":"done","text":"b"}`}
	if got := bodies(t, c, id); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An answer of the server that got lost is no reason to take one's own row for
// somebody else's.
func TestLostAnswer(t *testing.T) {
	c := connect(t)
	j, err := c.openJournal(t.Context(), "tsk_1")
	if err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg(logSubjects + "tsk_1")
	m.Header.Set(rowHeader, "mine")
	first, err := j.send(m)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := j.send(m); err != nil || again != first {
		t.Errorf("row %d, then %d, %v", first, again, err)
	}
	if got := bodies(t, c, "tsk_1"); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

// A row of any size comes back whole, and one whose writer died in the middle
// of it isn't there.
func TestLargeRows(t *testing.T) {
	c := connect(t)
	const id = "tsk_1"
	j, err := c.openJournal(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("0123456789"), 300_000)
	if err := j.AddRows(id, row(1, "a", ""), store.Row{Gen: 1, Kind: "b", Body: large}); err != nil {
		t.Fatal(err)
	}
	if err := j.AddRows(id, row(1, "d", "1"), store.Row{Gen: 1, Kind: "e", Body: large}, row(1, "f", "{}")); err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg(logSubjects + id)
	m.Header.Set(rowHeader, "half")
	m.Header.Set(moreHeader, "1")
	m.Data = large[:1000]
	if _, err := j.send(m); err != nil {
		t.Fatal(err)
	}
	next, err := c.openJournal(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.AddRows(id, row(2, "c", "end")); err != nil {
		t.Fatal(err)
	}
	got := bodies(t, c, id)
	if want := []string{"a ", "b " + string(large), "d 1", "e " + string(large), "f {}", "c end"}; !slices.Equal(got, want) {
		t.Errorf("%d rows: %.200q", len(got), got)
	}
}

// Settings that can't work are told in one sentence.
func TestCheck(t *testing.T) {
	for url, want := range map[string]string{
		"nats://127.0.0.1":        "",
		"tls://nats.example.com":  "",
		"":                        "is no address like tls://HOST",
		"127.0.0.1:4222":          "is no address like tls://HOST",
		"http://127.0.0.1":        "is no address like tls://HOST",
		"nats://":                 "is no address like tls://HOST",
		"nats://\x7f":             "is no address like tls://HOST",
		"tls://u:hunter2@h":       "leave name, password and token out",
		"nats://hunter2@h:4222":   "leave name, password and token out",
		"nats://127.0.0.1:hunter": "is no address like tls://HOST",
	} {
		if got := text(Check(task.NATS{URL: url})); want == "" && got != "" || !strings.Contains(got, want) || strings.Contains(got, "hunter") {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	}
}
