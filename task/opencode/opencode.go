// Package opencode is the backend that gives tasks to OpenCode over its HTTP
// API: to the very OpenCode that launched them, if that lends itself, to a
// server that is running, or to one of our own that ends with us.
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
	b := &backend{brief: brief, hear: hear, known: map[string]task.Run{}, options: o, env: env, servers: map[string]*server{}}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

type backend struct {
	brief   func(task.Task) string
	hear    task.Hear
	options task.OpenCode
	env     []string        // of our own server
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	work    sync.WaitGroup

	mu       sync.Mutex
	known    map[string]task.Run // runs by their session, for events
	servers  map[string]*server  // by the socket of the host, "" for the one that is no task's own
	starting sync.Mutex          // one start at a time: the same one may come twice
}

func (b *backend) Name() string { return Name }

// key is the part of a message's id that names a run or a note, whenever it was
// made.
func key(parts ...any) string {
	h := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(h[:7])
}

// server returns the OpenCode that works on a task.
func (b *backend) server(t task.Task) *server {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.servers[t.Via]
	if s == nil {
		s = newServer(b.options, b.env, t.Via)
		b.servers[t.Via] = s
	}
	return s
}

func (b *backend) do(ctx context.Context, t task.Task, method, path string, in, out any) error {
	return b.server(t).do(ctx, method, path, t.Dir, in, out)
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
	if err := b.server(r.Task).ready(ctx, b.ctx); err != nil {
		return "", &task.Refusal{Reason: err.Error()}
	}
	b.starting.Lock()
	defer b.starting.Unlock()
	session, err := b.session(ctx, r.Task)
	if err != nil {
		return "", err
	}
	_ = b.listen(session, r)
	ms, err := b.messages(ctx, session, r.Task)
	if err != nil {
		return "", err
	}
	if findUser(ms, runKey(r.Task)) >= 0 {
		return session, nil // it has the prompt
	}
	busy, err := b.busy(ctx, session, r.Task)
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
	if brief := b.briefing(r.Task); brief != "" && r.Task.Gen == 1 {
		text = brief + "\n\n" + text
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
	if m := b.model(ctx, t); m != nil {
		body["model"] = m
	}
	path := "/session/" + session + "/prompt_async"
	if quiet {
		path, body["noReply"] = "/session/"+session+"/message", true
	}
	if b.foreign(t) {
		body["agent"] = t.Agent
	}
	return b.do(ctx, t, "POST", path, body, nil)
}

func (b *backend) briefing(t task.Task) string {
	if b.brief == nil {
		return ""
	}
	return b.brief(t)
}

// foreign reports whether the task's agent is one of the host's own.
func (b *backend) foreign(t task.Task) bool { return t.Via != "" && b.brief != nil && b.brief(t) == "" }

// model is the task's own, or in its parent's host the parent's.
func (b *backend) model(ctx context.Context, t task.Task) map[string]string {
	parent, ok := strings.CutPrefix(t.Parent, Name+"/")
	if t.Model != "" || t.Via == "" || !ok {
		return modelOf(t.Model)
	}
	if a, err := b.hostAgent(ctx, t); err != nil || a.Model != nil {
		return nil
	}
	ms, err := b.messages(ctx, parent, t)
	if err != nil {
		return nil // it has a default
	}
	for _, m := range slices.Backward(ms) {
		if u := m.Info.Model; m.Info.Role == "user" && u.ModelID != "" {
			return map[string]string{"providerID": u.ProviderID, "modelID": u.ModelID}
		}
	}
	return nil
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
		err := b.do(ctx, t, "GET", "/session/"+t.Session, nil, &s)
		if r := task.RefusalOf(err); r != nil {
			return "", &task.Refusal{Reason: fmt.Sprintf("OpenCode has no session %s any more (%s); launch a new task", t.Session, r.Reason)}
		}
		return s.ID, err
	}
	var all []session
	if err := b.do(ctx, t, "GET", "/session", nil, &all); err != nil {
		return "", err
	}
	for _, s := range all {
		if s.Metadata[ownerKey] == t.ID {
			return s.ID, nil
		}
	}
	if _, err := b.hostAgent(ctx, t); err != nil {
		return "", err
	}
	var s session
	body := map[string]any{
		"title": cmp.Or(t.Title, t.Alias), "permission": b.permissions(t),
		"metadata": map[string]any{ownerKey: t.ID, "whet.alias": t.Alias},
	}
	if p, ok := strings.CutPrefix(t.Parent, Name+"/"); ok {
		body["parentID"] = p
	}
	err := b.do(ctx, t, "POST", "/session", body, &s)
	return s.ID, err
}

// A hostAgent is one of the host's own.
type hostAgent struct {
	Name  string `json:"name"`
	Model any    `json:"model"` // nil if it takes any
}

// hostAgent returns the one that a task is for; the zero value if that is one of
// whet's.
func (b *backend) hostAgent(ctx context.Context, t task.Task) (a hostAgent, err error) {
	if !b.foreign(t) {
		return a, nil
	}
	var all []hostAgent
	if err := b.do(ctx, t, "GET", "/agent", nil, &all); err != nil {
		return a, err
	}
	var names []string
	for _, a := range all {
		if a.Name == t.Agent {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return a, &task.Refusal{Reason: fmt.Sprintf("OpenCode has no agent %q; it has %s", t.Agent, strings.Join(names, ", "))}
}

// permissions hold the session to what its agent may do. In a host that a person
// sits at, what an agent may do at all is asked there; elsewhere nobody would
// answer.
func (b *backend) permissions(t task.Task) (rules []map[string]string) {
	rule := func(permission string, ok bool) {
		action := "deny"
		if ok {
			action = "allow"
		}
		rules = append(rules, map[string]string{"permission": permission, "pattern": "*", "action": action})
	}
	if t.Via == "" {
		rule("edit", t.Writes)
		rule("bash", t.Allows("bash"))
		rule("webfetch", true)
		rule("external_directory", t.Allows("external_directory"))
	} else if !t.Writes {
		rule("edit", false)
		if !t.Allows("bash") {
			rule("bash", false)
		}
	}
	for _, p := range []string{"task", "task_*", "wait_for_*", "question"} { // the orchestrator's
		rule(p, false)
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
	ms, err := b.messages(ctx, r.Task.Session, r.Task)
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
	if err := b.server(r.Task).ready(ctx, b.ctx); err != nil {
		return err
	}
	return b.do(ctx, r.Task, "POST", "/session/"+r.Task.Session+"/abort", nil, nil)
}

// busy says what a session does: "busy", "retry", or "" if it rests. The
// server's list is one for each directory.
func (b *backend) busy(ctx context.Context, session string, t task.Task) (string, error) {
	var status map[string]struct {
		Type string `json:"type"`
	}
	if err := b.do(ctx, t, "GET", "/session/status", nil, &status); err != nil {
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
	s := b.server(t)
	if err := s.ready(ctx, b.ctx); err != nil {
		return task.Look{}, err
	}
	r = b.listen(t.Session, r)
	// Whether it rests is asked before what it has said: the other way round, an
	// end between the two would look like a rest without one.
	status, err := b.busy(ctx, t.Session, t)
	if err != nil && s.gone() {
		return task.Look{Live: task.LiveGone, Reason: "the OpenCode that it worked in has ended"}, nil
	}
	if err != nil {
		return task.Look{}, err
	}
	ms, err := b.messages(ctx, t.Session, t)
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

func (b *backend) messages(ctx context.Context, session string, t task.Task) (ms []message, err error) {
	return ms, b.do(ctx, t, "GET", "/session/"+url.PathEscape(session)+"/message", nil, &ms)
}

// Close ends our own server, if there is one. Sessions stay: they go on later.
func (b *backend) Close() error {
	b.stop()
	b.work.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.servers {
		s.close()
	}
	return nil
}
