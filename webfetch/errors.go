package webfetch

import (
	"fmt"
	"strings"
	"time"
)

// A Kind names what went wrong, in words that don't change.
type Kind string

// The kinds of errors.
const (
	InvalidURL       Kind = "invalid_url"
	InvalidRequest   Kind = "invalid_request"
	BlockedAddress   Kind = "blocked_address"
	BlockedRedirect  Kind = "blocked_redirect"
	DNS              Kind = "dns"
	Connect          Kind = "connect"
	TLS              Kind = "tls"
	Timeout          Kind = "timeout"
	HTTPStatus       Kind = "http_status"
	TooManyRedirects Kind = "too_many_redirects"
	BotChallenge     Kind = "bot_challenge"
	Decode           Kind = "decode"
	UnsupportedType  Kind = "unsupported_type"
	Robots           Kind = "robots"
	Cancelled        Kind = "cancelled"
)

// An Error says why a page could not be had, for the model to act upon.
type Error struct {
	Kind       Kind          `json:"kind"`
	Message    string        `json:"message"`
	URL        string        `json:"url"`
	Status     int           `json:"status,omitempty"`
	Phase      string        `json:"phase,omitempty"` // of a timeout: "dns", "connect", "tls", "headers", "body"
	RetryAfter time.Duration `json:"-"`
	RetrySecs  int           `json:"retry_after,omitempty"` // seconds that the server asks to wait
	Redirect   string        `json:"redirect_url,omitempty"`
	Chain      []Hop         `json:"redirect_chain,omitempty"`
	Body       string        `json:"body,omitempty"` // what the server said beside the status
	Signals    []string      `json:"quality_signals,omitempty"`
	Hint       string        `json:"hint,omitempty"`

	llms string // why a required llms.txt wasn't there
	err  error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Error returns one line for people.
func (e *Error) Error() string {
	return fmt.Sprintf("fetching %s: %s", e.URL, strings.ReplaceAll(e.Message, "\n", " "))
}

// Text returns what a model reads: frontmatter, the message, what to do.
func (e *Error) Text() string {
	var f frontmatter
	f.add("requested_url", e.URL)
	f.add("error", string(e.Kind))
	f.add("redirect_url", e.Redirect)
	f.add("status_code", e.Status)
	f.add("timeout_phase", e.Phase)
	f.add("retry_after", e.RetrySecs)
	f.list("redirect_chain", hopLines(e.Chain))
	f.list("quality_signals", e.Signals)
	if e.llms != "" {
		f.addAlways("used_llms_txt", false)
		f.add("llms_probe_error", e.llms)
	}
	parts := []string{f.String() + oneLine(e.Message)}
	if e.Kind == BlockedRedirect {
		parts[0] = f.String() + fmt.Sprintf("%s.\nOriginal URL: %s\nRedirect URL: %s\nStatus: %d",
			e.Message, e.URL, e.Redirect, e.Status)
	}
	if e.Hint != "" {
		parts = append(parts, e.Hint)
	}
	if e.Body != "" {
		parts = append(parts, "The server said:", e.Body)
	}
	return strings.Join(parts, "\n\n")
}

// oneLine makes the message a sentence.
func oneLine(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// A Hop is one redirect.
type Hop struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Status int    `json:"status"`
}

func hopLines(hops []Hop) []string {
	var s []string
	for _, h := range hops {
		s = append(s, fmt.Sprintf("%d %s -> %s", h.Status, h.From, h.To))
	}
	return s
}
