// Package loop notices a model that makes the same call and gets the same
// answer again and again. The model is told at the third identical answer; the
// sixth identical read, grep or glob is refused.
//
// It compares results, not only calls: a test run after each edit is the same
// call with news each time, and never counts.
package loop

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
func (w *Watch) End(id, call, result string) int {
	if id != "" {
		p, begun := w.Pending[id]
		if !begun {
			return 0
		}
		delete(w.Pending, id)
		call = p.Call
	}
	if w.LastCall == call && w.LastResult == result {
		w.Runs++
	} else {
		w.LastCall, w.LastResult, w.Runs = call, result, 1
	}
	return w.Runs
}

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
	return hex.EncodeToString(h[:16])
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
