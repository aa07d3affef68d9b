package loop_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/loop"
)

func TestRead(t *testing.T) {
	const reset = "reset"
	for _, c := range []struct {
		file, session string
		want          []string // tool, "!" if it failed, "=" if it is the call and result before
		remarks       string
	}{
		{"claude-code.jsonl", "c1", []string{reset, "read", "read=", "read=", reset, "read=", "bash!"}, "3 repeat"},
		{"codex.jsonl", "x1", []string{reset, "bash", "bash=", "bash=", "apply_patch!", reset}, "3 repeat"},
		{"opencode.json", "opencode.json", []string{reset, "bash!", "bash=!", "bash=!", "read"}, "3 repeat"},
	} {
		f, err := os.Open("testdata/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		recs, err := loop.Read(f, c.file)
		if err != nil || len(recs) != 1 || recs[0].Name != c.session {
			t.Errorf("%s: got %v, %v", c.file, recs, err)
			continue
		}
		var got []string
		var last loop.Step
		for _, e := range recs[0].Events {
			if e.Reset {
				got = append(got, reset)
				continue
			}
			s := e.Step.Tool
			if e.Step.Call == last.Call && e.Step.Result == last.Result {
				s += "="
			}
			if e.Step.Error != "" {
				s += "!"
			}
			got, last = append(got, s), e.Step
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.file, diff)
		}
		var said []string
		for _, m := range recs[0].Run(loop.Options{}).Remarks {
			said = append(said, string(rune('0'+m.Call))+" "+kind(m.Text))
		}
		if got := strings.Join(said, "; "); got != c.remarks {
			t.Errorf("%s: got %q, want %q", c.file, got, c.remarks)
		}
	}
}

func TestReadOther(t *testing.T) {
	for _, text := range []string{"", " \n", "hello", "{}", "[]", `{"type":"nothing"}`, "\x00\xff"} {
		if _, err := loop.Read(strings.NewReader(text), "x"); !errors.Is(err, loop.ErrFormat) {
			t.Errorf("%q: got %v, want ErrFormat", text, err)
		}
	}
	cut := `{"type":"user","message":{"content":"go"}}` + "\n" + `{"type":"assistant","mess`
	if recs, err := loop.Read(strings.NewReader(cut), "x"); err != nil || len(recs) != 1 {
		t.Errorf("a transcript that was cut off: got %v, %v", recs, err)
	}
}

// A call that would have been refused is left out, and what came after a remark
// counts as wasted.
func TestReplay(t *testing.T) {
	rec := loop.Recording{Name: "s"}
	for range 8 {
		rec.Events = append(rec.Events, loop.Event{Step: loop.NewStep("read", []byte(`{}`), "text", false), Bytes: 400})
	}
	r := rec.Run(loop.Options{})
	var sum loop.Summary
	sum.Add(r)
	if want := (loop.Summary{Sessions: 1, Calls: 8, Notices: 3, Refusals: 3, Wasted: 500}); sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"claude-code.jsonl", "codex.jsonl", "opencode.json"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add(`{"corpus":"c","session":"s","steps":[["read",1,2,3,0,5],[]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		recs, err := loop.Read(strings.NewReader(text), "x")
		if err != nil {
			return
		}
		for _, r := range recs {
			r.Run(loop.Options{})
		}
	})
}
