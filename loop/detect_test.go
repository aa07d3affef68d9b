package loop_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/loop"
)

// kind is what a notice is about.
func kind(notice string) string {
	for _, k := range []struct{ text, kind string }{
		{"This ", "repeat"}, {"among the last", "stall"}, {"times over", "cycle"}, {"whatever the arguments", "errors"}, {"for the ", "wait"}, {"same state", "state"}, {"one file", "paging"},
	} {
		if strings.Contains(notice, k.text) && (k.kind != "repeat" || !strings.Contains(notice, "among")) {
			return k.kind
		}
	}
	return ""
}

// say makes a call and returns what the guard said: "", "refused" or the kind
// of its notice.
func (s *session) say(tool, args, result string) string {
	c := s.begin(tool, args)
	if c == nil {
		return "refused"
	}
	text, failed := strings.CutPrefix(result, "error: ")
	r := &whet.Result{Text: text, Failed: failed}
	s.kit.After(s.t.Context(), c, r)
	return kind(strings.TrimPrefix(r.Text, text))
}

// A script is calls, a word each: a tool's letter, the arguments' number, and
// after a colon the result. "r1:x" is a read of file 1 that says x.
func (s *session) play(script string) (said []string) {
	tools := map[byte]string{'r': "read", 'g': "grep", 'b': "bash", 'e': "edit", 'm': "mcp__db__query", 't': "task_status", 'w': "wait_for_user", 'f': "webfetch"}
	for i, word := range strings.Fields(script) {
		call, result, _ := strings.Cut(word, ":")
		result = strings.ReplaceAll(result, "!", "error: ")
		result = strings.ReplaceAll(result, "_", " ")
		if got := s.say(tools[call[0]], fmt.Sprintf(`{"path": %q}`, call[1:]), result); got != "" {
			said = append(said, fmt.Sprintf("%d %s", i+1, got))
		}
	}
	return said
}

// inMemory opens a session as a host that lives as long as it does.
func inMemory(t *testing.T, o loop.Options) *session {
	s := open(t, o)
	s.s.Store = state.Memory()
	return s
}

func numbered(word string, n int) string {
	var words []string
	for i := range n {
		words = append(words, fmt.Sprintf(word, i))
	}
	return strings.Join(words, " ")
}

func TestDetectors(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"two calls in turn", "r1:x g1:y r1:x g1:y r1:x g1:y", "6 cycle"},
		{"three calls in turn", "r1:x g1:y f1:z r1:x g1:y f1:z r1:x g1:y f1:z", "9 cycle"},
		{"four calls in turn", strings.Repeat("r1:x g1:y f1:z r2:u ", 3), "12 cycle"},
		{"a cycle goes on", strings.Repeat("r1:x g1:y ", 8), "6 cycle; 12 cycle"},
		{"a cycle with an edit in it", "r1:x g1:y e1:z r1:x g1:y e1:z r1:x g1:y e1:z", ""},
		{"a cycle with news in it", "r1:x g1:y r1:x g1:y r1:x2 g1:y2", ""},
		{"a cycle of which only the times change", "m1:at_10:00:01 g1:y m1:at_10:00:02 g1:y m1:at_10:00:03 g1:y", "6 cycle"},
		{"the same call between others", "r1:x r2:x r3:x r1:x r4:x r5:x r1:x", "7 stall"},
		{"and it goes on", "r1:x r2:x r1:x r3:x r1:x r4:x r1:x r5:x r1:x r6:x r1:x", "5 stall; 11 stall"},
		{"with an edit between", "r1:x r2:x r1:x e1:done r3:x r1:x r4:x r1:x", ""},
		{"with a failed edit between", "r1:x r2:x r1:x e1:!no r3:x r1:x", "6 stall"},
		{"with another command between", "r1:x r2:x r1:x b1:done r1:x", ""},
		{"the same command between", "b1:x r2:x b1:x r3:x b1:x", "5 stall"},
		{"a build after each edit", strings.Repeat("e1:done b1:ok ", 33), ""},
		{"a build after edits, a look before", strings.Repeat("r1:x e1:done b1:ok ", 20), ""},
		{"far apart", "r1:x r2:x r3:x r4:x r5:x r6:x r7:x r8:x r9:x r1:x r10:x r11:x r12:x r13:x r14:x r15:x r16:x r17:x r18:x r19:x r1:x", ""},
		{"a log that grows", "r1:a r1:ab r1:abc r1:abcd r1:abcde r1:abcdef r1:abcdefg", ""},
		{"only the time changes", "r1:10:00:01 r1:10:00:02 r1:10:00:03 r1:10:00:04 r1:10:00:05 r1:10:00:06 r1:10:00:07 r1:10:00:08", "5 stall"},
		{"distinct reads", "r1:a r2:b r3:c r4:d r5:e r6:f r7:g r8:h r9:i r10:j r11:k r12:l r13:m r14:n r15:o r16:p", ""},
		{"one error for all", "m1:!no_such_table_x m2:!no_such_table_x m3:!no_such_table_x m4:!no_such_table_x", "4 errors"},
		{"and it goes on", numbered("m%d:!no", 20), "4 errors; 8 errors; 16 errors"},
		{"other tools between", "e1:!not_found r1:a e2:!not_found r2:b e3:!not_found r3:c e4:!not_found", "7 errors"},
		{"errors that differ", "m1:!a m2:!b m3:!c m4:!d m5:!e", ""},
		{"a success between", "m1:!no m2:!no m3:fine m4:!no m5:!no", ""},
		{"only their times differ", "m1:!after_5ms m2:!after_6ms m3:!after_1.5s m4:!after_7ms", "4 errors"},
		{"a shell's errors begin alike", "b1:!exit_1 b2:!exit_1 b3:!exit_1 b4:!exit_1", "4 errors"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(inMemory(t, loop.Options{}).play(c.script), "; ")
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			off := loop.Detectors{Stall: "off", Cycle: "off", Errors: "off"}
			if got := inMemory(t, loop.Options{Detectors: off}).play(c.script); got != nil {
				t.Errorf("switched off, got %q", got)
			}
		})
	}
}

func TestShellErrorsThatBeginAlike(t *testing.T) {
	s := inMemory(t, loop.Options{})
	for i, out := range []string{"error: exit 1\nFAIL a", "error: exit 1\nFAIL b", "error: exit 1\nFAIL c", "error: exit 1\nFAIL d", "error: exit 1\nFAIL e"} {
		if got := s.say("bash", fmt.Sprintf(`{"command":"test %d"}`, i), out); got != "" {
			t.Errorf("command %d: got %s", i, got)
		}
	}
}

// What is only said to people doesn't make another call.
func TestCosmeticArguments(t *testing.T) {
	for _, c := range []struct {
		name, args string // %d is the number of the call
		want       string
	}{
		{"a description", `{"command":"make","description":"try %d"}`, "stall"},
		{"a time limit", `{"command":"make","timeout":%d}`, "stall"},
		{"space at the end", "{\"command\":\"make%[2]s\"}", "stall"},
		{"a path's spelling", `{"path":"a/%[3]sb"}`, "stall"},
		{"the only argument", `{"thought":"idea %d"}`, ""},
		{"another command", `{"command":"make %d","description":"same"}`, ""},
		{"long numbers", `{"id":900719925474099%d}`, ""},
	} {
		s := inMemory(t, loop.Options{})
		got := ""
		for i := range 3 {
			args := fmt.Sprintf(c.args+"%[4]s", i, strings.Repeat(" ", i), strings.Repeat("./", i), "")
			got = s.say("tool", args, "same")
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	s := inMemory(t, loop.Options{})
	for range 10 { // never refused for it
		for i := range 2 {
			if got := s.say("read", fmt.Sprintf(`{"path":"a","description":"%d"}`, i), "same"); got == "refused" {
				t.Fatal("refused though the calls differ")
			}
		}
	}
}

func TestWaits(t *testing.T) {
	for _, c := range []struct {
		wait, script, want string
	}{
		{"", "w:a w:a w:a w:a", ""},
		{"off", "w:a w:a w:a w:a", ""},
		{"warn", "w:a w:b w:c w:d", "2 wait; 3 wait; 4 wait"},
		{"refuse", "w:a r1:x w:b w:c w:d", "3 wait; 4 refused; 5 refused"},
	} {
		s := inMemory(t, loop.Options{Wait: c.wait})
		if got := strings.Join(s.play(c.script), "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.wait, got, c.want)
		}
		s.kit.Reset(t.Context(), s.s)
		if got := s.play("w:a"); got != nil {
			t.Errorf("%s: the first wait of the next turn: got %v", c.wait, got)
		}
	}
}

func TestSupervision(t *testing.T) {
	on := loop.Options{Detectors: loop.Detectors{Supervision: "warn"}}
	for _, c := range []struct{ script, want string }{
		{"t1:running,_idle_for_1s t1:running,_idle_for_2s t1:running,_idle_for_3s t1:running,_idle_for_4s", "3 state; 4 state"},
		{"t1:running t1:running t1:done t1:done", ""},
		{"t1:running t2:running t1:running t2:running", ""},
		{"t1:running r1:x t1:running r2:x t1:running", "5 state"},
	} {
		if got := strings.Join(inMemory(t, on).play(c.script), "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.script, got, c.want)
		}
		if got := inMemory(t, loop.Options{}).play(c.script); got != nil {
			t.Errorf("%s by default: got %v", c.script, got)
		}
	}
}

func TestNormal(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain text 42", "plain text 42"},
		{"at 2026-11-30T21:04:05.123Z done", "at # done"},
		{"2026-11-30 21:04:05,123 x", "# x"},
		{"2026-11-30T21:04:05+02:00", "#"},
		{"on 2026-11-30.", "on #."},
		{"[10:11:12] y", "[#] y"},
		{"10:11", "#"},
		{"took 12ms, 1.5 s, 3 seconds, 2m30s", "took #, #, #, #"},
		{"ok  	pkg	0.012s", "ok  	pkg	#"},
		{"3 sheep, 4 masts, 5 mice", "3 sheep, 4 masts, 5 mice"},
		{"pid 1234, PID=99, pid: 7, pidgin 8", "#, #, #, pidgin 8"},
		{"0x7ffde1 0x1", "# 0x1"},
		{"id 123e4567-e89b-12d3-a456-426614174000 end", "id # end"},
		{"deadbeef-cafe", "deadbeef-cafe"},
		{"v1.2.3 a10s x2026-11-30", "v1.2.3 a10s x2026-11-30"},
		{"12 µs", "#"},
	} {
		if got := loop.Normal(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzNormal(f *testing.F) {
	f.Add("2026-11-30T21:04:05.123Z 12ms pid 3 0xabc123 123e4567-e89b-12d3-a456-426614174000")
	f.Fuzz(func(t *testing.T, s string) {
		if n := loop.Normal(s); len(n) > len(s) {
			t.Errorf("%q became longer: %q", s, n)
		}
	})
}

// Recorded sessions of ordinary work: the five real stalls are noticed, and
// nothing else is; nobody is refused anything.
func TestRecordedSessions(t *testing.T) {
	f, err := os.Open("testdata/sessions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, err := loop.Read(f, "")
	if err != nil {
		t.Fatal(err)
	}
	var sum loop.Summary
	flagged := map[string]string{}
	for _, rec := range recs {
		r := rec.Run(loop.Options{})
		sum.Add(r)
		for _, m := range r.Remarks {
			flagged[r.Session] = kind(m.Text)
		}
	}
	want := map[string]string{"tau/c2765dca": "stall", "tau/d42a258c": "stall", "tau/8eb625d3": "cycle", "tau/6315eda1": "stall", "swe/bb0af44f": "repeat"}
	if diff := cmp.Diff(want, flagged); diff != "" {
		t.Errorf("sessions with a notice (-want +got):\n%s", diff)
	}
	if sum.Sessions != 203 || sum.Calls != 1391 || sum.Refusals != 0 {
		t.Errorf("got %v", sum)
	}
}

// Loops of every shape are caught, whatever else goes on around them.
func TestSyntheticLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 400 {
		period := 1 + n%4
		s := inMemory(t, loop.Options{})
		var before []string
		for i := range r.IntN(10) {
			before = append(before, fmt.Sprintf("r%d:before%d", 100+i, i))
		}
		s.play(strings.Join(before, " "))
		var round []string
		for i := range period {
			round = append(round, fmt.Sprintf("%s%d:same", string("rgmf"[i]), i))
		}
		said := s.play(strings.Repeat(strings.Join(round, " ")+" ", 3))
		if len(said) != 1 {
			t.Fatalf("period %d after %d calls: got %v, want one notice", period, len(before), said)
		}
	}
}

// A different call, or a changed result, put in anywhere never makes the guard
// refuse what it would not have refused without; the order of arguments never
// matters.
func TestNoveltyNeverHurts(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		var words []string
		for range 3 + r.IntN(12) {
			words = append(words, fmt.Sprintf("r%d:%d", r.IntN(2), r.IntN(2)))
		}
		refusals := func(words []string) (n int) {
			for _, said := range inMemory(t, loop.Options{}).play(strings.Join(words, " ")) {
				n += strings.Count(said, "refused")
			}
			return n
		}
		was := refusals(words)
		at := r.IntN(len(words) + 1)
		if is := refusals(slices.Insert(slices.Clone(words), at, "g9:new")); is > was {
			t.Fatalf("%v with a new call at %d: %d refusals, %d without", words, at, is, was)
		}
	}
	a, b := inMemory(t, loop.Options{}), inMemory(t, loop.Options{})
	for i := range 20 {
		x := a.say("read", `{"path":"a","limit":3}`, "x")
		y := b.say("read", []string{`{"path":"a","limit":3}`, `{"limit":3.0,"path":"a"}`}[i%2], "x")
		if x != y {
			t.Fatalf("call %d: %q, and %q with its arguments reordered", i+1, x, y)
		}
	}
}

// However calls overlap, the count never exceeds the results that were the same
// in a row, in the order in which they came.
func TestOverlapProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		s := inMemory(t, loop.Options{})
		var running []*whet.Call
		last, streak := "", 0
		for range 30 {
			if len(running) > 0 && r.IntN(2) == 0 {
				i := r.IntN(len(running))
				c := running[i]
				running = slices.Delete(running, i, i+1)
				if key := string(c.Args); key == last {
					streak++
				} else {
					last, streak = key, 1
				}
				res := &whet.Result{Text: "same"}
				s.kit.After(t.Context(), c, res)
				if repeat := kind(strings.TrimPrefix(res.Text, "same")) == "repeat"; repeat != (streak >= 3) {
					t.Fatalf("notice %v after %d equal results", repeat, streak)
				}
				continue
			}
			args := fmt.Sprintf(`{"p":%d}`, r.IntN(2))
			c := s.begin("grep", args)
			if (c == nil) != (streak >= 5 && args == last) {
				t.Fatalf("refused %v after %d equal results", c == nil, streak)
			}
			if c != nil {
				running = append(running, c)
			}
		}
	}
}

// The state of a session stays small, whatever happens in it.
func TestStateIsSmall(t *testing.T) {
	s := inMemory(t, loop.Options{Wait: "refuse", Detectors: loop.Detectors{Supervision: "warn"}})
	r := rand.New(rand.NewPCG(13, 14))
	for range 2000 {
		s.say([]string{"read", "bash", "edit", "task_status", "mcp__x"}[r.IntN(5)]+strings.Repeat("x", r.IntN(2)*r.IntN(40)), fmt.Sprintf(`{"a":%d}`, r.IntN(30)), []string{"same", "error: no", "12ms"}[r.IntN(3)])
	}
	_ = s.s.Store.Update("loop", func(old []byte) ([]byte, error) {
		if len(old) > 4<<10 {
			t.Errorf("%d bytes of state", len(old))
		}
		return old, nil
	})
}

// A host that reports a failed call by another way than its results can still
// end it.
func TestFailureEvents(t *testing.T) {
	s := inMemory(t, loop.Options{})
	for i, want := range []string{"", "", "repeat", "repeat", "repeat"} {
		if got := s.say("bash", `{}`, "error: the arguments are wrong"); got != want {
			t.Errorf("call %d: got %q, want %q", i+1, got, want)
		}
	}
}
