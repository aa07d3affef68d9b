// Package opencode is the backend that gives tasks to OpenCode over its HTTP
// API: to a server that is running, or to one of our own that ends with us.
//
// Each run has a message id of its own, made of the task and its generation.
// The assistant's turns name the message that they answer, so that it is never
// guessed whose end an end is. Being quiet proves nothing: an idle session is
// merely missing from the server's list of busy ones.
package opencode

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whet-dev/whet/task"
)

// Name is what the backend is called.
const Name = "opencode"

// New returns the backend. brief is what a specialist is told before its first
// prompt; it may be nil.
func New(o task.OpenCode, env []string, brief func(task.Task) string, hear task.Hear) task.Backend {
	b := &backend{brief: brief, hear: hear, known: map[string]task.Run{}}
	b.server.options, b.server.env = o, env
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

type backend struct {
	brief  func(task.Task) string
	hear   task.Hear
	server server
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	known    map[string]task.Run // runs by their session, for events
	listens  bool
	starting sync.Mutex // one start at a time: the same one may come twice
}

func (b *backend) Name() string { return Name }

// key is the part of a message's id that names a run or a note, whenever it was
// made.
func key(parts ...any) string {
	h := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(h[:7])
}

func runKey(t task.Task) string { return key("run ", t.ID, " ", t.Gen) }

func noteKey(t task.Task, note string) string { return key("note ", t.ID, " ", note) }

// messageID returns a new id that ends with the key. Like the server's own,
// it begins with the time, by which messages are ordered: 48 bits of the
// milliseconds times 4096.
func messageID(k string) string {
	return fmt.Sprintf("msg_%012x%s", uint64(time.Now().UnixMilli())*0x1000&(1<<48-1), k)
}

func (b *backend) Start(ctx context.Context, r task.Run) (string, error) {
	if b.ctx.Err() != nil {
		return "", errors.New("whet is ending")
	}
	if err := b.server.ready(ctx, b.ctx); err != nil {
		return "", &task.Refusal{Reason: err.Error()}
	}
	b.starting.Lock()
	defer b.starting.Unlock()
	session, err := b.session(ctx, r.Task)
	if err != nil {
		return "", err
	}
	_ = b.listen(session, r)
	ms, err := b.messages(ctx, session, r.Task.Dir)
	if err != nil {
		return "", err
	}
	if findUser(ms, runKey(r.Task)) >= 0 {
		return session, nil // it has the prompt
	}
	busy, err := b.busy(ctx, session, r.Task.Dir)
	if err != nil {
		return "", err
	}
	if busy != "" {
		return "", &task.Refusal{Reason: "it is still at work"}
	}
	return session, b.prompt(ctx, session, r)
}

// prompt sends what the run is about, after messages that no run has read.
func (b *backend) prompt(ctx context.Context, session string, r task.Run) error {
	text := cmp.Or(r.Prompt, r.Task.Prompt)
	if b.brief != nil && r.Task.Gen == 1 {
		text = b.brief(r.Task) + "\n\n" + text
	}
	for _, n := range r.Notes {
		if err := b.send(ctx, session, r.Task, messageID(noteKey(r.Task, n.ID)), n.Text, true); err != nil {
			return err
		}
	}
	return b.send(ctx, session, r.Task, messageID(runKey(r.Task)), text, false)
}

// send gives the session a message. A quiet one starts no turn.
func (b *backend) send(ctx context.Context, session string, t task.Task, id, text string, quiet bool) error {
	body := map[string]any{"messageID": id, "parts": []map[string]any{{"type": "text", "text": text}}}
	if m := modelOf(t.Model); m != nil {
		body["model"] = m
	}
	path := "/session/" + session + "/prompt_async"
	if quiet {
		path, body["noReply"] = "/session/"+session+"/message", true
	}
	return b.server.do(ctx, "POST", path, t.Dir, body, nil)
}

func modelOf(s string) map[string]string {
	provider, model, ok := strings.Cut(s, "/")
	if !ok {
		return nil
	}
	return map[string]string{"providerID": provider, "modelID": model}
}

type session struct {
	ID       string         `json:"id"`
	Metadata map[string]any `json:"metadata"`
}

const ownerKey = "whet.task"

// session returns the task's session. One whose creation was not answered is
// found by what it was stamped with.
func (b *backend) session(ctx context.Context, t task.Task) (string, error) {
	if t.Session != "" {
		var s session
		err := b.server.do(ctx, "GET", "/session/"+t.Session, t.Dir, nil, &s)
		if r := task.RefusalOf(err); r != nil {
			return "", &task.Refusal{Reason: fmt.Sprintf("OpenCode has no session %s any more (%s); launch a new task", t.Session, r.Reason)}
		}
		return s.ID, err
	}
	var all []session
	if err := b.server.do(ctx, "GET", "/session", t.Dir, nil, &all); err != nil {
		return "", err
	}
	for _, s := range all {
		if s.Metadata[ownerKey] == t.ID {
			return s.ID, nil
		}
	}
	var s session
	body := map[string]any{
		"title": cmp.Or(t.Title, t.Alias), "permission": permissions(t),
		"metadata": map[string]any{ownerKey: t.ID, "whet.alias": t.Alias},
	}
	if p, ok := strings.CutPrefix(t.Parent, Name+"/"); ok {
		body["parentID"] = p
	}
	err := b.server.do(ctx, "POST", "/session", t.Dir, body, &s)
	return s.ID, err
}

// permissions hold the session to what its agent may do. Nothing is asked: there
// is nobody to answer.
func permissions(t task.Task) []map[string]string {
	verdict := func(ok bool) string {
		if ok {
			return "allow"
		}
		return "deny"
	}
	var rules []map[string]string
	rule := func(permission string, ok bool) {
		rules = append(rules, map[string]string{"permission": permission, "pattern": "*", "action": verdict(ok)})
	}
	rule("edit", t.Writes)
	rule("bash", t.Allows("bash"))
	rule("webfetch", true)
	for _, p := range []string{"task", "question", "external_directory"} {
		rule(p, t.Allows(p) && p == "external_directory")
	}
	return rules
}

// Note keeps the message with the session. The server answers it with one more
// turn when the present one has ended.
func (b *backend) Note(ctx context.Context, r task.Run, n task.Note) error {
	l, err := b.Look(ctx, r)
	switch {
	case err != nil:
		return err
	case l.Ended() || l.Live != task.LiveBusy && l.Live != task.LiveRetry:
		return &task.Refusal{Reason: "it is not at work"}
	}
	ms, err := b.messages(ctx, r.Task.Session, r.Task.Dir)
	if err != nil {
		return err
	}
	k := noteKey(r.Task, n.ID)
	if findUser(ms, k) >= 0 {
		return nil
	}
	b.mu.Lock()
	known := b.known[r.Task.Session]
	known.Notes = append(slices.Clone(known.Notes), n)
	b.known[r.Task.Session] = known
	b.mu.Unlock()
	return b.send(ctx, r.Task.Session, r.Task, messageID(k), n.Text, true)
}

// Interrupt asks for the end. The server says yes whatever it does about it.
func (b *backend) Interrupt(ctx context.Context, r task.Run) error {
	if r.Task.Session == "" {
		return nil
	}
	if err := b.server.ready(ctx, b.ctx); err != nil {
		return err
	}
	return b.server.do(ctx, "POST", "/session/"+r.Task.Session+"/abort", r.Task.Dir, nil, nil)
}

// busy says what a session does: "busy", "retry", or "" if it rests. The
// server's list is one for each directory.
func (b *backend) busy(ctx context.Context, session, dir string) (string, error) {
	var status map[string]struct {
		Type string `json:"type"`
	}
	if err := b.server.do(ctx, "GET", "/session/status", dir, nil, &status); err != nil {
		return "", err
	}
	if s := status[session].Type; s != "idle" {
		return s, nil
	}
	return "", nil
}

func (b *backend) Look(ctx context.Context, r task.Run) (task.Look, error) {
	t := r.Task
	if t.Session == "" {
		return task.Look{Live: task.LiveQuiet}, nil
	}
	if err := b.server.ready(ctx, b.ctx); err != nil {
		return task.Look{}, err
	}
	r = b.listen(t.Session, r)
	// Whether it rests is asked before what it has said: the other way round, an
	// end between the two would look like a rest without one.
	status, err := b.busy(ctx, t.Session, t.Dir)
	if err != nil {
		return task.Look{}, err
	}
	ms, err := b.messages(ctx, t.Session, t.Dir)
	if r := task.RefusalOf(err); r != nil {
		return task.Look{Live: task.LiveQuiet, End: task.Deleted, Reason: "its session is gone: " + r.Reason}, nil
	}
	if err != nil {
		return task.Look{}, err
	}
	l := evidence(ms, r)
	l.Session = t.Session
	switch status {
	case "":
		l.Live = task.LiveQuiet
	case "retry":
		l.Live, l.End = task.LiveRetry, 0
	default:
		l.Live, l.End = task.LiveBusy, 0
	}
	return l, nil
}

func (b *backend) messages(ctx context.Context, session, dir string) (ms []message, err error) {
	return ms, b.server.do(ctx, "GET", "/session/"+url.PathEscape(session)+"/message", dir, nil, &ms)
}

// Close ends our own server, if there is one. Sessions stay: they go on later.
func (b *backend) Close() error {
	b.stop()
	b.work.Wait()
	b.server.close()
	return nil
}
