// Package loop notices a model that makes the same call and gets the same
// answer again and again. The model is told at the third identical answer; the
// sixth identical read, grep or glob is refused. Looser ways of getting nowhere
// (calls that come back between others, cycles, one error for ever other
// arguments) are told too, and never refused.
//
// It compares results, not only calls: a test run after each edit is the same
// call with news each time, and never counts.
package loop

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Watch is what a session remembers. It counts only when a result is known,
// so calls that overlap can't raise the count before they have answered.
type Watch struct {
	LastCall   string             `json:"call,omitempty"`
	LastResult string             `json:"result,omitempty"`
	Runs       int                `json:"runs,omitempty"`    // how often in a row that call gave that result
	Pending    map[string]pending `json:"pending,omitempty"` // calls begun, by the host's id

	history
}

type pending struct {
	Call string `json:"call"`
	At   int64  `json:"at"` // Unix time in seconds
}

// A call that a host never reported back is forgotten after an hour, or when
// there are more than maxPending.
const (
	maxPending = 256
	pendingFor = time.Hour
)

// Begin notes that the call has begun. Calls without an id are not noted.
func (w *Watch) Begin(id, call string, now time.Time) {
	if id == "" {
		return
	}
	maps.DeleteFunc(w.Pending, func(_ string, p pending) bool { return now.Unix()-p.At > int64(pendingFor/time.Second) })
	if len(w.Pending) >= maxPending {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(w.Pending)), func(a, b string) int {
			return cmp.Compare(w.Pending[a].At, w.Pending[b].At)
		})
		delete(w.Pending, oldest)
	}
	if w.Pending == nil {
		w.Pending = map[string]pending{}
	}
	w.Pending[id] = pending{call, now.Unix()}
}

// End counts the call's result and returns how often in a row it was the same.
// A call with an id that was never begun, or was refused, counts as 0.
func (w *Watch) End(id string, s Step) int {
	if id != "" {
		p, begun := w.Pending[id]
		if !begun {
			return 0
		}
		delete(w.Pending, id)
		s.Call = p.Call
	}
	if w.LastCall == s.Call && w.LastResult == s.Result {
		w.Runs++
	} else {
		w.LastCall, w.LastResult, w.Runs = s.Call, s.Result, 1
	}
	return w.Runs
}

// Reset forgets what was counted, not the calls that are under way.
func (w *Watch) Reset() { *w = Watch{Pending: w.Pending} }

// Key identifies a call: the tool's name whatever its case, and the arguments
// whatever the order of their keys and the spelling of their numbers. Models
// do reorder keys when they repeat themselves.
func Key(tool string, args json.RawMessage) string {
	return sum(strings.ToLower(tool) + "\x00" + canonical(args))
}

// Sum identifies a result.
func Sum(text string, failed bool) string {
	return sum(strconv.FormatBool(failed) + "\x00" + text)
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return base64.RawStdEncoding.EncodeToString(h[:12])
}

// canonical returns the JSON with sorted keys, no white space and one spelling
// for each number; what isn't JSON is returned as it is.
func canonical(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return string(raw)
	}
	b, err := json.Marshal(oneSpelling(v)) // sorts keys
	if err != nil {
		return string(raw)
	}
	return string(b)
}

// oneSpelling makes equal numbers look equal (1.0, 1e0 and 1), but leaves whole
// numbers as written: as floating point, two long ids could become one.
func oneSpelling(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = oneSpelling(v[k])
		}
	case []any:
		for i := range v {
			v[i] = oneSpelling(v[i])
		}
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			if f, err := v.Float64(); err == nil {
				return f
			}
		}
		if v == "-0" {
			return json.Number("0")
		}
	}
	return v
}

// Refusal says why the call must not run; "" if it may.
func (w *Watch) Refusal(tool, key string, o Options) string {
	o = o.withDefaults()
	switch {
	case isWait(tool) && o.Wait == "refuse" && w.Waited(tool) >= waitRefuseAt-1:
		return fmt.Sprintf("refused: %s was called %d times since the user last wrote, and waiting longer will not bring more. End your turn: what you wait for will start a new one.", tool, w.Waited(tool))
	case slices.Contains(o.Exempt, tool):
	case w.LastCall == key && w.Runs >= o.RefuseAt && slices.Contains(o.RefuseTools, tool):
		return fmt.Sprintf("refused: %s gave the same result %d times for these arguments, and that result is already in this conversation. Use it, make a different call, or give your final answer.", tool, w.Runs)
	}
	return ""
}

// Notice takes in a finished call and returns what to tell the model; "" for
// nothing.
func (w *Watch) Notice(id string, s Step, o Options) string {
	o = o.withDefaults()
	if slices.Contains(o.Exempt, s.Tool) {
		return w.Exempted(s, o)
	}
	n := w.End(id, s)
	if n == 0 {
		return ""
	}
	notice := w.Detect(s, o.Detectors)
	if n >= o.WarnAt {
		return fmt.Sprintf("[LOOP GUARD] This %s call has now given the same result %d times. Repeating it will not help: use the result you have, change the arguments or the tool, or say what blocks you.", s.Tool, n)
	}
	return notice
}
