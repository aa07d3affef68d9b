package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
)

// The test binary is also the agent under test: whet's own loop, spoken to over
// the protocol. It stands for well-behaved agents; the real OpenCode is tested
// beside it. $ACP_TEST says how it misbehaves.

func serveAgent() {
	switch how := os.Getenv("ACP_TEST"); how {
	case "garbage":
		fmt.Println("Welcome to Agent 1.0!\nType /help for help.")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence\x1b[31m found")
		os.Exit(3)
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "flood":
		fmt.Print(`{"jsonrpc":"2.0","method":"x","params":"`)
		for range 20 << 10 {
			fmt.Print(strings.Repeat("x", 1024))
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	default:
		a := &testAgent{how: how, cancels: map[sdk.SessionId]context.CancelCauseFunc{}}
		a.conn = sdk.NewAgentSideConnection(a, os.Stdout, os.Stdin)
		a.conn.SetLogger(slog.New(slog.DiscardHandler))
		<-a.conn.Done()
	}
}

type testAgent struct {
	how     string
	conn    *sdk.AgentSideConnection
	mu      sync.Mutex
	cancels map[sdk.SessionId]context.CancelCauseFunc
}

func (a *testAgent) Initialize(context.Context, sdk.InitializeRequest) (r sdk.InitializeResponse, err error) {
	r.ProtocolVersion = sdk.ProtocolVersionNumber
	r.AgentCapabilities.LoadSession = a.how != "forgetful"
	return r, nil
}

func (a *testAgent) NewSession(_ context.Context, q sdk.NewSessionRequest) (r sdk.NewSessionResponse, err error) {
	if a.how == "login" {
		return r, &sdk.RequestError{Code: -32000, Message: "Authentication required"}
	}
	r.SessionId = sdk.SessionId(fmt.Sprintf("s%d", time.Now().UnixNano()))
	return r, nil
}

func (a *testAgent) history(id sdk.SessionId) (ms []agent.Message) {
	b, err := os.ReadFile(filepath.Join(os.Getenv("ACP_STATE"), string(id)))
	if err == nil {
		_ = json.Unmarshal(b, &ms)
	}
	return ms
}

// LoadSession replays the old conversation, as agents do.
func (a *testAgent) LoadSession(ctx context.Context, q sdk.LoadSessionRequest) (r sdk.LoadSessionResponse, err error) {
	ms := a.history(q.SessionId)
	if ms == nil {
		return r, errors.New("no such session")
	}
	for _, m := range ms {
		if m.Role == "assistant" {
			a.say(ctx, q.SessionId, sdk.UpdateAgentMessageText(m.Text))
		}
	}
	return r, nil
}

func (a *testAgent) say(ctx context.Context, id sdk.SessionId, u sdk.SessionUpdate) {
	_ = a.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: id, Update: u})
}

func (a *testAgent) Prompt(ctx context.Context, q sdk.PromptRequest) (r sdk.PromptResponse, err error) {
	if a.how == "crash" {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(9)
	}
	run, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	a.cancels[q.SessionId] = cancel
	a.mu.Unlock()
	role, err := agent.FindRole("fixer")
	if err != nil {
		return r, err
	}
	wd, err := os.Getwd()
	if err != nil {
		return r, err
	}
	out, err := agent.Run(run, agent.Options{
		Model: agent.Endpoint{Provider: "p", Model: "m", API: "openai", BaseURL: os.Getenv("ACP_MODEL") + "/v1", Idle: 20 * time.Second}.Open(),
		Kit:   &whet.Kit{}, Role: role, History: a.history(q.SessionId), Prompt: q.Prompt[0].Text.Text, Retry: agent.Retry{Base: 10 * time.Millisecond},
		Session: whet.Session{Dir: wd, Ask: func(context.Context, whet.Permission) error { return nil }},
		Event: func(e agent.Event) {
			switch e.Type {
			case "text":
				a.say(ctx, q.SessionId, sdk.UpdateAgentMessageText(e.Text))
			case "call":
				a.permission(ctx, q.SessionId, e.Call.Name)
				a.say(ctx, q.SessionId, sdk.StartToolCall(sdk.ToolCallId(e.Call.ID), e.Call.Name, sdk.WithStartKind(sdk.ToolKindEdit)))
			}
		},
	})
	b, _ := json.Marshal(out.Messages)
	_ = os.WriteFile(filepath.Join(os.Getenv("ACP_STATE"), string(q.SessionId)), b, 0o600)
	r.StopReason = sdk.StopReasonEndTurn
	r.Usage = &sdk.Usage{InputTokens: int(out.Usage.Input), OutputTokens: int(out.Usage.Output)}
	switch {
	case a.how == "tired":
		r.StopReason = sdk.StopReasonMaxTokens
	case errors.Is(err, errCancelled):
		r.StopReason = sdk.StopReasonCancelled
	case err != nil:
		return r, &sdk.RequestError{Code: -32603, Message: err.Error()}
	}
	return r, nil
}

// permission asks first, in the way that $ACP_TEST says.
func (a *testAgent) permission(ctx context.Context, id sdk.SessionId, tool string) {
	kinds := map[string][]sdk.PermissionOptionKind{
		"ask": {"allow_always", "reject_once", "allow_once"}, "ask-reject-only": {"reject_always"}, "ask-nothing": {},
	}
	options, ok := kinds[a.how]
	if !ok {
		return
	}
	q := sdk.RequestPermissionRequest{SessionId: id, Options: []sdk.PermissionOption{}}
	kind := sdk.ToolKindEdit
	q.ToolCall.ToolCallId, q.ToolCall.Title, q.ToolCall.Kind = "1", &tool, &kind
	here, _ := os.Getwd()
	q.ToolCall.Locations = []sdk.ToolCallLocation{{Path: filepath.Join(here, "x")}}
	for _, k := range options {
		q.Options = append(q.Options, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(k), Name: string(k), Kind: k})
	}
	r, err := a.conn.RequestPermission(ctx, q)
	answer := fmt.Sprint(err)
	switch {
	case err != nil:
	case r.Outcome.Selected != nil:
		answer = string(r.Outcome.Selected.OptionId)
	case r.Outcome.Cancelled != nil:
		answer = "cancelled"
	}
	_ = os.WriteFile(filepath.Join(os.Getenv("ACP_STATE"), "permission"), []byte(answer), 0o600)
}

var errCancelled = errors.New("cancelled")

func (a *testAgent) Cancel(_ context.Context, q sdk.CancelNotification) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.cancels[q.SessionId]; cancel != nil && a.how != "deaf" {
		cancel(errCancelled)
	}
	return nil
}

func (a *testAgent) Authenticate(context.Context, sdk.AuthenticateRequest) (r sdk.AuthenticateResponse, err error) {
	return r, nil
}

func (a *testAgent) CloseSession(context.Context, sdk.CloseSessionRequest) (r sdk.CloseSessionResponse, err error) {
	return r, nil
}

func (a *testAgent) ListSessions(context.Context, sdk.ListSessionsRequest) (r sdk.ListSessionsResponse, err error) {
	return r, nil
}

func (a *testAgent) ResumeSession(context.Context, sdk.ResumeSessionRequest) (r sdk.ResumeSessionResponse, err error) {
	return r, errors.New("no")
}

func (a *testAgent) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (r sdk.SetSessionConfigOptionResponse, err error) {
	return r, errors.New("no")
}

func (a *testAgent) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (r sdk.SetSessionModeResponse, err error) {
	return r, errors.New("no")
}
