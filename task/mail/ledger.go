package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
)

// While tasks are at work that change files, every session keeps what it has
// read, and all of them together who has changed what. A session whose file
// somebody else has changed since must read it again before it edits it.

// A record is a file as it was last seen by any session.
type record struct {
	Size    int64   `json:"size"`
	Mod     int64   `json:"mod"`
	Touches []touch `json:"touches,omitempty"` // the last one of each session, oldest first
}

// A touch is a change of a file.
type touch struct {
	By      string    `json:"by"`   // the task's id, or the session
	Name    string    `json:"name"` // for people and models
	Command bool      `json:"command,omitempty"`
	At      time.Time `json:"at"`
}

// A reading is a file as a session knows it.
type reading struct {
	Sum string    `json:"sum"`
	At  time.Time `json:"at"`
}

// maxRecords bounds the ledger and what a session remembers, in files.
const maxRecords = 1000

// A party is a session as the ledger knows it.
type party struct{ by, name string }

// partyOf says who calls: a task at work, or another session.
func partyOf(s whet.Session, claims []task.Claim) party {
	for _, c := range claims {
		if mine(c, s) {
			return party{c.Task, fmt.Sprintf("%s (the %s)", c.Alias, c.Agent)}
		}
	}
	return party{Parent(s), "another session (" + Parent(s) + ")"}
}

// updateLedger changes the ledger of the runner with its state in dir.
func updateLedger(dir string, f func(map[string]record)) error {
	shared := whet.Session{Store: state.Dir(filepath.Join(dir, "ledger"))}
	return whet.Update(shared, "files", func(files *map[string]record) error {
		if *files == nil {
			*files = map[string]record{}
		}
		f(*files)
		trim(*files, func(r record) int64 { return max(r.Mod, r.last().UnixNano()) })
		return nil
	})
}

func (r record) last() time.Time {
	if len(r.Touches) == 0 {
		return time.Unix(0, 0)
	}
	return r.Touches[len(r.Touches)-1].At
}

// trim forgets the oldest files beyond the limit.
func trim[V any](m map[string]V, age func(V) int64) {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return int(min(max(age(m[b])-age(m[a]), -1), 1)) })
	for _, n := range names[min(len(names), maxRecords):] {
		delete(m, n)
	}
}

// noted takes in what a call has read or changed.
func noted(c *whet.Call, r *whet.Result, dir string, claims []task.Claim) error {
	if len(claims) == 0 || r.Failed {
		return nil
	}
	who := partyOf(c.Session, claims)
	now := time.Now()
	switch {
	case c.Tool == "bash":
		return updateLedger(dir, func(files map[string]record) { afterCommand(files, who, now) })
	case c.Tool != "read" && !slices.Contains(editors, c.Tool):
		return nil
	}
	paths := slices.Clone(r.Changed)
	for _, name := range named(c) {
		paths = append(paths, absolute(c.Session, name))
	}
	err := whet.Update(c.Session, "task-read", func(known *map[string]reading) error {
		if *known == nil {
			*known = map[string]reading{}
		}
		for _, p := range paths {
			(*known)[p] = reading{sum(p), now}
		}
		trim(*known, func(r reading) int64 { return r.At.UnixNano() })
		return nil
	})
	if err != nil {
		return err
	}
	return updateLedger(dir, func(files map[string]record) {
		for _, p := range paths {
			rec, ok := files[p].now(p)
			if ok && c.Tool != "read" {
				rec.touch(touch{who.by, who.name, false, now})
			}
			if ok {
				files[p] = rec
			}
		}
	})
}

// afterCommand finds the files that differ since somebody last looked at them.
func afterCommand(files map[string]record, who party, now time.Time) {
	for p, old := range files {
		rec, ok := old.now(p)
		if ok && (rec.Size != old.Size || rec.Mod != old.Mod) {
			rec.touch(touch{who.by, who.name, true, now})
			files[p] = rec
		}
	}
}

// now returns the record with how the file is now; ok is false if it is gone.
func (r record) now(path string) (record, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return r, false
	}
	r.Size, r.Mod = info.Size(), info.ModTime().UnixNano()
	return r, true
}

func (r *record) touch(t touch) {
	others := slices.DeleteFunc(slices.Clone(r.Touches), func(o touch) bool { return o.By == t.By })
	r.Touches = append(others, t)
}

// maxSum bounds the files that are read to be compared, in bytes; of larger
// ones size and time count.
const maxSum = 8 << 20

// sum identifies what is in a file, "" if there is none.
func sum(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if info.Size() > maxSum {
		return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	b, err := plainfile.Read(path, maxSum)
	if err != nil {
		return ""
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:12])
}

// fresh refuses to edit a file that somebody else has changed since the session
// last read it. A change by nobody that is known of is left to the editing tool,
// which compares what it replaces.
func fresh(c *whet.Call, dir string, claims []task.Claim) error {
	var known map[string]reading
	err := whet.Update(c.Session, "task-read", func(m *map[string]reading) error { known = *m; return nil })
	if err != nil || len(known) == 0 {
		return err
	}
	stale := map[string]string{} // names by path
	for _, name := range named(c) {
		p := absolute(c.Session, name)
		if r, ok := known[p]; ok && r.Sum != sum(p) {
			stale[p] = name
		}
	}
	if len(stale) == 0 {
		return nil
	}
	who := partyOf(c.Session, claims)
	var refusal error
	err = updateLedger(dir, func(files map[string]record) {
		for _, p := range slices.Sorted(maps.Keys(stale)) {
			for _, t := range files[p].Touches {
				if t.By != who.by && t.At.After(known[p].At) {
					refusal = whet.Refuse("%s was not called: %s has changed since you%s last read it, %s; read it again, then make your edit fit what is there now.", c.Tool, stale[p], itself(who), by(t))
					return
				}
			}
		}
	})
	if refusal != nil {
		return refusal
	}
	return err
}

// itself names a task to itself; another session needs no name.
func itself(p party) string {
	if strings.HasPrefix(p.by, "tsk_") {
		return ", " + p.name + ","
	}
	return ""
}

func by(t touch) string {
	if t.Command {
		return "while " + t.Name + " ran a command"
	}
	return "by " + t.Name
}

// Also lists who else has changed the files that a task has changed, since it
// started. dir is the runner's.
func Also(dir string, t *task.Task) []task.Also {
	if len(t.Changed) == 0 || t.Checkout != nil {
		return nil
	}
	files := map[string][]string{}
	_ = updateLedger(dir, func(all map[string]record) { // what can't be read names nobody
		for _, f := range t.Changed {
			for _, touch := range all[filepath.Join(t.Dir, filepath.FromSlash(f))].Touches {
				if touch.By != t.ID && touch.At.After(t.Started) {
					files[touch.Name] = append(files[touch.Name], f)
				}
			}
		}
	})
	var out []task.Also
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, task.Also{By: name, Files: files[name]})
	}
	return out
}
