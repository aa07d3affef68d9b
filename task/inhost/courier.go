package inhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/mail"
)

const (
	// hostName is how sessions of the host are called beside others.
	hostName = "opencode"
	// pollEvery is how often the mail of sessions is looked at.
	pollEvery = 300 * time.Millisecond
	// again is when a session is looked at once more though nothing was heard.
	again = 5 * time.Second
	// retry is when what failed is tried again.
	retry = 30 * time.Second
	// settled is how long a session must rest until a notice that was claimed and
	// isn't in its conversation counts as lost.
	settled = 10 * time.Second
	// chunk is how many ends are told at once.
	chunk = 8
	// recent is how long ago a session may have changed to be woken by a host
	// that was started anew.
	recent = 24 * time.Hour
)

// A session is one of the host's that has tasks, or may have.
type session struct {
	id     string
	recall sync.Once // what the conversation holds, when it is first seen
	stamp  string    // of its mail when that was last looked at
	due    time.Time // when to look again; zero means now
	rests  time.Time // since when, zero if it doesn't
	woken  time.Time
	lost   map[string]time.Time // claimed, not in the conversation: since when
	idle   struct {             // wakes for unfinished work
		why string
		n   int
	}
}

func (s *session) parent() string { return hostName + "/" + s.id }

// Saw takes in that a session is at work, and returns its store. What its
// conversation holds already is not told again.
func (h *House) Saw(id string) whet.Store {
	store := h.Stores(id)
	h.mu.Lock()
	s := h.sessions[id]
	if s == nil {
		s = &session{id: id, lost: map[string]time.Time{}}
		h.sessions[id] = s
	}
	h.mu.Unlock()
	s.recall.Do(func() {
		if m, ok := mail.Read(s.parent()); ok && len(m.Notices) > 0 {
			if past, err := h.history(h.ctx, id, m.Notices); err == nil {
				remember(store, past.told)
			}
		}
	})
	return store
}

// Wrote takes in that a person wrote in a session.
func (h *House) Wrote(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[id]; s != nil {
		s.idle.why, s.idle.n = "", 0
	}
}

func remember(store whet.Store, told []string) {
	_ = mail.Told(whet.Session{Store: store}, func(old []string) []string { // in memory: can't fail
		for _, id := range told {
			if !slices.Contains(old, id) {
				old = append(old, id)
			}
		}
		return old
	})
}

// watch looks after the sessions.
func (h *House) watch() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	search := time.Now().Add(time.Second) // while the plugin is set up, the host may not answer
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
		case <-h.poked:
		}
		now := time.Now()
		if !search.IsZero() && now.After(search) {
			search = time.Time{}
			if h.find() != nil {
				search = now.Add(again)
			}
		}
		for _, s := range h.stale(now) {
			if err := h.attend(s); err != nil && h.ctx.Err() == nil {
				h.Log.Warn("telling a session of its tasks", "session", s.id, "err", err)
				h.mu.Lock()
				s.due = time.Now().Add(retry)
				h.mu.Unlock()
			}
		}
	}
}

// find looks which sessions of the project have tasks from before this process.
func (h *House) find() error {
	var all []struct {
		ID   string `json:"id"`
		Time struct {
			Updated int64 `json:"updated"`
		} `json:"time"`
	}
	if err := h.ask(h.ctx, "GET", "/session", nil, &all); err != nil {
		return err
	}
	for _, s := range all {
		if time.Since(time.UnixMilli(s.Time.Updated)) < recent {
			if _, ok := mail.Read(hostName + "/" + s.ID); ok {
				h.Saw(s.ID)
			}
		}
	}
	return nil
}

// stale lists the sessions that are to be looked at: their mail has changed, or
// it is time.
func (h *House) stale(now time.Time) (out []*session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		info, err := os.Stat(task.MailFile(h.State, s.parent()))
		if err != nil {
			continue // it has no tasks
		}
		stamp := fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
		if stamp != s.stamp || now.After(s.due) {
			s.stamp, s.due = stamp, now.Add(again)
			out = append(out, s)
		}
	}
	return out
}

// attend tells a session that rests what it has not heard.
func (h *House) attend(s *session) error {
	m, ok := mail.Read(s.parent())
	if !ok {
		return nil
	}
	// Whether it rests is asked first: what it has said since can only be more.
	rests, err := h.resting(s)
	if err != nil || !rests {
		return err // at work it is told with its tools' results
	}
	past := history{}
	if len(m.Notices) > 0 {
		if past, err = h.history(h.ctx, s.id, m.Notices); err != nil {
			return err
		}
	}
	if len(past.read) > 0 {
		if err := mail.Acknowledge(s.parent(), past.read); err != nil {
			return err
		}
	}
	if m.Waiting {
		return nil
	}
	if h.Wake.Ends() && len(m.Notices) > len(past.told) {
		if gap := h.Wake.MinGap() - time.Since(s.woken); gap > 0 {
			h.later(s, gap)
			return nil
		}
		if fresh := h.claim(s, m.Notices, past); len(fresh) > 0 {
			return h.tell(s, fresh, past)
		}
	}
	return h.nudge(s, m, past)
}

func (h *House) later(s *session, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.due = time.Now().Add(d)
}

// resting reports whether a session's model has ended its turn.
func (h *House) resting(s *session) (bool, error) {
	var status map[string]struct {
		Type string `json:"type"`
	}
	if err := h.ask(h.ctx, "GET", "/session/status", nil, &status); err != nil {
		return false, err
	}
	if t := status[s.id].Type; t != "" && t != "idle" {
		s.rests = time.Time{}
		return false, nil
	}
	if s.rests.IsZero() {
		s.rests = time.Now()
	}
	return true, nil
}

func (h *House) history(ctx context.Context, id string, notices []task.Notice) (history, error) {
	var ms []message
	if err := h.ask(ctx, "GET", "/session/"+id+"/message", nil, &ms); err != nil {
		return history{}, err
	}
	return look(ms, notices), nil
}

// claim takes the notices that the session was never told of, some at a time. One
// that was claimed before and still isn't in its conversation got lost on the
// way.
func (h *House) claim(s *session, notices []task.Notice, past history) (out []task.Notice) {
	now := time.Now()
	_ = mail.Told(whet.Session{Store: h.Stores(s.id)}, func(told []string) []string { // in memory: can't fail
		for _, n := range notices {
			claimed := slices.Contains(told, n.ID)
			switch {
			case slices.Contains(past.told, n.ID):
				delete(s.lost, n.ID)
			case claimed && s.lost[n.ID].IsZero():
				s.lost[n.ID] = now
				continue
			case claimed && (now.Sub(s.lost[n.ID]) < settled || now.Sub(s.rests) < settled), len(out) == chunk:
				continue
			default:
				delete(s.lost, n.ID)
				out = append(out, n)
			}
			if !claimed {
				told = append(told, n.ID)
			}
		}
		return told
	})
	return out
}

// tell wakes a session with notices that are claimed.
func (h *House) tell(s *session, notices []task.Notice, past history) error {
	var ids, texts []string
	for _, n := range notices {
		ids, texts = append(ids, n.ID), append(texts, n.Text)
	}
	err := h.wake(s, strings.Join(texts, "\n\n"), strings.Join(ids, " "), past)
	if err != nil { // whoever comes next may tell them
		_ = mail.Told(whet.Session{Store: h.Stores(s.id)}, func(old []string) []string {
			return slices.DeleteFunc(old, func(id string) bool { return slices.Contains(ids, id) })
		})
	}
	return err
}

// wake makes a session go on with a text, marked as written by no person. key
// tells what it is about.
func (h *House) wake(s *session, text, key string, past history) error {
	s.woken = time.Now() // before it is sent: what fails may not storm
	body := map[string]any{
		"messageID": messageID(key),
		"parts":     []any{map[string]any{"type": "text", "text": text, "synthetic": true, "metadata": map[string]any{"whet": "wake"}}},
	}
	if m := past.last.Info; m.Model.ModelID != "" { // as the person has chosen
		body["agent"], body["model"] = m.Agent, m.Model
	}
	return h.ask(h.ctx, "POST", "/session/"+s.id+"/prompt_async", body, nil)
}

// messageID is an id as the host makes them: by time, and then by what it is.
func messageID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("msg_%012x%s", uint64(time.Now().UnixMilli())*0x1000&(1<<48-1), hex.EncodeToString(sum[:7]))
}

// nudgeText is the same bytes each time.
const nudgeText = `<system-reminder>
You have been at rest for a while, and something is unfinished: todos that are not done, or the end of a background task that you have not
used (the board names it). Go on with it now. If you need the person for that, call wait_for_user and end your turn.
</system-reminder>`

// nudge wakes a session that has rested for long with something unfinished. It
// doesn't while tasks are at work: their ends wake it.
func (h *House) nudge(s *session, m task.Mail, past history) error {
	after, most := h.Wake.Idle()
	if after == 0 || m.Open > 0 {
		return nil
	}
	if left := after - time.Since(s.rests); left > 0 {
		h.later(s, min(left, again))
		return nil
	}
	var todos []struct{ Content, Status string }
	if err := h.ask(h.ctx, "GET", "/session/"+s.id+"/todo", nil, &todos); err != nil {
		return err
	}
	var why []string
	for _, t := range todos {
		if t.Status == "pending" || t.Status == "in_progress" {
			why = append(why, t.Status+" "+t.Content)
		}
	}
	for _, n := range m.Notices {
		if !slices.Contains(past.read, n.ID) {
			why = append(why, n.ID)
		}
	}
	slices.Sort(why)
	reason := strings.Join(why, "\n")
	n, ok := h.count(s, reason, most)
	if !ok {
		return nil
	}
	if past.last.Info.ID == "" {
		var err error
		if past, err = h.history(h.ctx, s.id, nil); err != nil {
			return err
		}
	}
	return h.wake(s, nudgeText+"\n\n"+m.Board, fmt.Sprint("nudge ", n, " ", reason), past)
}

// count counts a wake for unfinished work, and reports whether it is to be: the
// same work wakes so often, until a person writes.
func (h *House) count(s *session, why string, most int) (n int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if why != s.idle.why {
		s.idle.why, s.idle.n = why, 0
	}
	if why == "" || s.idle.n >= most {
		return 0, false
	}
	s.idle.n++
	return s.idle.n, true
}
