package loop_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/whet-dev/whet/loop"
)

// A book is a file that a model reads pages of.
type book struct{ name, text string }

func newBook(name string, lines int) book {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%s line %d\n", name, i+1)
	}
	return book{name, b.String()}
}

// page is a read of limit lines from offset on.
func (b book) page(s *session, offset, limit int) string {
	lines := strings.SplitAfter(b.text, "\n")
	lines = lines[min(offset-1, len(lines)):]
	lines = lines[:min(limit, len(lines))]
	return s.say("read", fmt.Sprintf(`{"file_path":%q,"offset":%d,"limit":%d}`, b.name, offset, limit), strings.Join(lines, ""))
}

func TestPaging(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	short, long, other := newBook("short", 200), newBook("long", 5000), newBook("other", 200)
	for _, c := range []struct {
		name string
		play func(s *session, say func(string))
		want string
	}{
		{"a short file on and on", func(s *session, say func(string)) {
			for range 90 {
				say(short.page(s, 1+r.IntN(150), 20+r.IntN(60)))
			}
		}, "40 paging; 80 paging"},
		{"searches between don't matter", func(s *session, say func(string)) {
			for i := range 40 {
				s.say("grep", fmt.Sprintf(`{"pattern":"p%d"}`, i), fmt.Sprint("match ", i))
				say(short.page(s, 1+r.IntN(150), 20+r.IntN(60)))
			}
		}, "40 paging"},
		{"a long file from end to end", func(s *session, say func(string)) {
			for i := range 200 {
				say(long.page(s, 1+25*i, 25))
			}
		}, ""},
		{"line by line", func(s *session, say func(string)) {
			for i := range 200 {
				say(short.page(s, 1+i, 1))
			}
		}, ""},
		{"a long file, here and there", func(s *session, say func(string)) {
			for range 200 {
				say(long.page(s, 1+r.IntN(4900), 20+r.IntN(60)))
			}
		}, ""},
		{"another file between", func(s *session, say func(string)) {
			for i := range 120 {
				say(short.page(s, 1+r.IntN(150), 20+r.IntN(60)))
				if i%30 == 29 {
					say(other.page(s, 1+i, 50))
				}
			}
		}, ""},
		{"an edit between", func(s *session, say func(string)) {
			for i := range 120 {
				say(short.page(s, 1+r.IntN(150), 20+r.IntN(60)))
				if i%30 == 29 {
					say(s.say("edit", fmt.Sprintf(`{"path":"short","n":%d}`, i), "done"))
				}
			}
		}, ""},
		{"a command between", func(s *session, say func(string)) {
			for i := range 120 {
				say(short.page(s, 1+r.IntN(150), 20+r.IntN(60)))
				if i%30 == 29 {
					say(s.say("bash", fmt.Sprintf(`{"command":"make %d"}`, i), "done"))
				}
			}
		}, ""},
		{"the whole file, however it is asked for", func(s *session, say func(string)) {
			for i := range 3 {
				say(short.page(s, 1, 500+i))
			}
		}, "3 stall"},
		{"past its end", func(s *session, say func(string)) {
			for i := range 6 {
				say(short.page(s, 300+100*i, 100))
			}
		}, "3 stall; 6 stall"},
		{"different pages", func(s *session, say func(string)) {
			for i := range 30 {
				say(short.page(s, 1+5*i, 50))
			}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said []string
			n := 0
			c.play(inMemory(t, loop.Options{}), func(what string) {
				if n++; what != "" {
					said = append(said, fmt.Sprintf("%d %s", n, what))
				}
			})
			if got := strings.Join(said, "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			off := inMemory(t, loop.Options{Detectors: loop.Detectors{Paging: "off", Stall: "off", Cycle: "off"}})
			c.play(off, func(what string) {
				if what != "" {
					t.Errorf("switched off, got %q", what)
				}
			})
		})
	}
}

// Where only the part asked for differs, a search that finds the same is no
// news either; a query that may mean something else by those words is.
func TestPartsOfResults(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"grep", `{"pattern":"x","head_limit":%d}`, "stall"},
		{"glob", `{"pattern":"*.x","limit":%d}`, "stall"},
		{"mcp__db__query", `{"table":"x","offset":%d}`, ""},
		{"grep", `{"pattern":"x","context":%d}`, ""},
	} {
		s := inMemory(t, loop.Options{})
		got := ""
		for i := range 3 {
			got = s.say(c.tool, fmt.Sprintf(c.args, i+1), "same")
		}
		if got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}

// Ordinary reading of real files is never remarked on: files read whole, page by
// page, again after an edit, and places in them looked up.
func TestOrdinaryReading(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	calls, notices := 0, 0
	for range 100 {
		s := inMemory(t, loop.Options{})
		var books []book
		for i := range 12 {
			books = append(books, newBook(fmt.Sprint("file", i), 20+r.IntN(1000)))
		}
		for n := 0; n < 60; {
			b := books[r.IntN(len(books))]
			var reads []func() string
			switch r.IntN(4) {
			case 0:
				reads = append(reads, func() string { return b.page(s, 1, 2000) })
			case 1:
				for from := 1; from < strings.Count(b.text, "\n"); from += 80 {
					reads = append(reads, func() string { return b.page(s, from, 80) })
				}
			case 2:
				for range 3 + r.IntN(5) {
					reads = append(reads, func() string { return b.page(s, 1+r.IntN(strings.Count(b.text, "\n")), 20+r.IntN(100)) })
				}
			case 3:
				reads = append(reads,
					func() string {
						return s.say("edit", fmt.Sprintf(`{"path":%q,"n":%d}`, b.name, n), "done")
					},
					func() string { return s.say("bash", `{"command":"go test ./..."}`, fmt.Sprint("FAIL ", r.IntN(3))) })
			}
			for _, read := range reads {
				n, calls = n+1, calls+1
				if what := read(); what != "" {
					t.Log(what)
					notices++
				}
			}
		}
	}
	if notices*1000 > calls {
		t.Errorf("%d notices in %d calls, want at most one in 1,000", notices, calls)
	}
	t.Logf("%d notices in %d calls", notices, calls)
}
