package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Step is one finished call, as digests.
type Step struct {
	Tool    string
	Call    string // of tool and arguments, see [Key]
	Loose   string // the same without what is cosmetic, see looseKey
	Result  string // see [Sum]
	Normal  string // of the result without what is volatile, see [Normal]
	Error   string // of what a failed call says; "" for one that did not fail
	Mutates bool   // it has changed files
	Shell   bool   // it may have changed anything
	Page    *Page  // what it has read of a file; nil for other calls
}

// NewStep digests a finished call.
func NewStep(tool string, args json.RawMessage, text string, failed bool) Step {
	s := Step{
		Tool: tool, Call: Key(tool, args), Loose: looseKey(tool, args),
		Result: Sum(text, failed), Normal: Sum(Normal(text), failed),
		Mutates: mutates(tool, args) && !failed, Shell: strings.EqualFold(tool, "bash"),
		Page: newPage(tool, args, text, failed),
	}
	if failed {
		s.Error = sum(errorLine(s.Tool, text))
	}
	return s
}

// mutates reports whether a successful call of the tool changes files.
func mutates(tool string, args json.RawMessage) bool {
	switch strings.ToLower(tool) {
	case "edit", "multiedit", "write", "patch", "apply_patch":
		return true
	case "ast_grep_replace":
		var a struct {
			DryRun *bool `json:"dryRun"`
			Apply  *bool `json:"apply"`
		}
		_ = json.Unmarshal(args, &a) // wrong arguments: the call failed then
		return !(a.DryRun != nil && *a.DryRun || a.Apply != nil && !*a.Apply)
	}
	return false
}

// history is what the looser detectors remember.
type history struct {
	Recent []recent `json:"recent,omitempty"` // newest last; begins after the last change of a file
	Told   []told   `json:"told,omitempty"`
	Errors []errs   `json:"errors,omitempty"`
	Waits  []waits  `json:"waits,omitempty"`
	State  waits    `json:"state,omitzero"` // the last look at a task
	Pages  pages    `json:"pages,omitzero"`
}

type recent struct {
	Call   string `json:"c"` // loose
	Result string `json:"r"`
	Normal string `json:"n,omitempty"` // "" if the same as Result
	Shell  bool   `json:"s,omitempty"`
}

func (r recent) normal() string {
	if r.Normal != "" {
		return r.Normal
	}
	return r.Result
}

func (r recent) same(o recent) bool { return r.Call == o.Call && r.normal() == o.normal() }

// told is something that was told at n repetitions.
type told struct {
	What string `json:"w"`
	N    int    `json:"n"`
}

// errs counts failures of a tool in a row that say the same.
type errs struct {
	Tool   string `json:"t"`
	Error  string `json:"e"`
	Call   string `json:"c"` // the first one's
	N      int    `json:"n"`
	Varied bool   `json:"v,omitempty"` // not all calls were equal
}

// waits counts calls of what repeats by design.
type waits struct {
	Tool   string `json:"t"`
	Result string `json:"r,omitempty"`
	N      int    `json:"n"`
}

// Bounds and thresholds. A session's memory is written with each call.
const (
	window       = 20 // calls that the detectors look back
	stallAt      = 3  // the same call and result in the window
	stallLoosely = 5  // if the results are the same only in their normal form
	cycleTimes   = 3  // repetitions of a cycle
	maxPeriod    = 4
	errorsAt     = 4
	maxTold      = 12
	maxErrs      = 8
)

// Detect looks at a call that End has counted and returns what to tell the
// model; "" for nothing.
func (w *Watch) Detect(s Step, d Detectors) string {
	if s.Mutates {
		w.Recent, w.Told = nil, nil
	} else {
		r := recent{Call: s.Loose, Result: s.Result, Shell: s.Shell}
		if s.Normal != s.Result {
			r.Normal = s.Normal
		}
		w.Recent = append(w.Recent, r)
		w.Recent = w.Recent[max(0, len(w.Recent)-window):]
	}
	failing, paging := w.failing(s), w.paging(s)
	p, rounds := w.cycle()
	switch {
	case d.Errors != Off && failing != "":
		return failing
	case s.Mutates:
	case d.Cycle != Off && p > 0: // a call of it that stands out is no news beside it
		if rounds < cycleTimes || !w.news(w.block(p), rounds) {
			return ""
		}
		return fmt.Sprintf("[LOOP GUARD] The last %d calls were the same %d calls %d times over, with the same results. Going round again will not help: use what you have, try something of another kind, or say what blocks you.", p*rounds, p, rounds)
	case d.Paging != Off && paging != "":
		return paging
	case d.Stall != Off:
		return w.stall(s)
	}
	return ""
}

// stall finds the call that just ended among the recent ones: the same call
// with the same result again and again, with nothing in between that could have
// changed it.
func (w *Watch) stall(s Step) string {
	now := w.Recent[len(w.Recent)-1]
	n, exact := 0, true
	for _, r := range slices.Backward(w.Recent) {
		if r.Shell && r.Call != now.Call {
			break
		}
		if r.same(now) {
			n++
			exact = exact && r.Result == now.Result
		}
	}
	at := stallAt
	if !exact {
		at = stallLoosely
	}
	if exact && w.Runs >= n {
		return "" // in a row: the plain counter's business
	}
	if n < at || !w.news(now.Call+now.normal(), n) {
		return ""
	}
	return fmt.Sprintf("[LOOP GUARD] This %s call has given the same result %d times among the last %d calls, and nothing has changed since the first. Asking again will not help: use the result you have, change something first, or say what blocks you.", s.Tool, n, len(w.Recent))
}

// cycle returns the period of the calls that the recent ones end with, and how
// many whole rounds there are of it, at least two; 0 if they are no cycle.
func (w *Watch) cycle() (period, rounds int) {
	n := len(w.Recent)
	for p := 2; p <= maxPeriod && 2*p <= n; p++ {
		repeated := 0
		for i := n - 1; i >= p && w.Recent[i].same(w.Recent[i-p]); i-- {
			repeated++
		}
		// Equal calls in a row are the plain counter's business.
		last := w.Recent[n-p:]
		varied := slices.ContainsFunc(last, func(r recent) bool { return !r.same(last[0]) })
		if rounds := repeated/p + 1; rounds >= 2 && varied {
			return p, rounds
		}
	}
	return 0, 0
}

// block names a cycle, wherever in it one begins.
func (w *Watch) block(p int) string {
	var names []string
	for _, r := range w.Recent[len(w.Recent)-p:] {
		names = append(names, r.Call+r.normal())
	}
	slices.Sort(names)
	return sum(strings.Join(names, " "))
}

// news reports whether something that was seen n times should be told: the
// first time, and when it has doubled since.
func (w *Watch) news(what string, n int) bool {
	for i, t := range w.Told {
		if t.What != what {
			continue
		}
		if n < 2*t.N {
			return false
		}
		w.Told[i].N = n
		return true
	}
	w.Told = append(w.Told, told{what, n})
	w.Told = w.Told[max(0, len(w.Told)-maxTold):]
	return true
}

// failing counts the failure, or forgets those of a tool that works again.
func (w *Watch) failing(s Step) string {
	i := slices.IndexFunc(w.Errors, func(e errs) bool { return e.Tool == s.Tool })
	if s.Error == "" || i >= 0 && w.Errors[i].Error != s.Error {
		if i >= 0 {
			w.Errors = slices.Delete(w.Errors, i, i+1)
		}
		i = -1
	}
	if s.Error == "" {
		return ""
	}
	if i < 0 {
		w.Errors = append(w.Errors, errs{Tool: s.Tool, Error: s.Error, Call: s.Loose})
		w.Errors = w.Errors[max(0, len(w.Errors)-maxErrs):]
		i = len(w.Errors) - 1
	}
	e := &w.Errors[i]
	e.N++
	e.Varied = e.Varied || e.Call != s.Loose
	if !e.Varied || e.N < errorsAt || !w.news("error "+e.Tool+e.Error, e.N) {
		return ""
	}
	return fmt.Sprintf("[LOOP GUARD] %s has failed %d times in a row with the same error, whatever the arguments. The arguments are not the problem: read the error, try another tool, or say what blocks you.", s.Tool, e.N)
}
