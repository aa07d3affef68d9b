package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// DefaultIdle is how long a model may send nothing before it is given up. A
// local one may read a long conversation for minutes before its first word.
const DefaultIdle = 5 * time.Minute

// maxAnswer bounds one answer of an endpoint, in bytes.
const maxAnswer = 64 << 20

// client returns an HTTP client that turns what both libraries would report in
// their own ways (statuses, silence) into our errors.
func (e Endpoint) client() *http.Client {
	return &http.Client{
		Transport: &transport{idle: cmp.Or(e.Idle, DefaultIdle)},
		// A redirect of a request with a key and a conversation is nobody's wish.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type transport struct{ idle time.Duration }

// A statusError is an answer that isn't one.
type statusError struct {
	status int
	text   string
	after  string // Retry-After
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.text) }

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(t.idle, func() { cancel(errIdle) })
	res, err := http.DefaultTransport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		timer.Stop()
		if context.Cause(ctx) == errIdle { //nolint:errorlint // the very value
			err = errIdle
		}
		cancel(nil)
		return nil, err
	}
	body := &idleBody{res.Body, io.LimitReader(res.Body, maxAnswer), ctx, cancel, timer, t.idle}
	if res.StatusCode/100 == 2 {
		res.Body = body
		return res, nil
	}
	defer body.Close()
	b, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // what there is must do
	return nil, &statusError{res.StatusCode, vendorMessage(b, res), res.Header.Get("Retry-After")}
}

// vendorMessage takes the sentence out of a vendor's error.
func vendorMessage(b []byte, res *http.Response) string {
	var v struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	_ = json.Unmarshal(b, &v)
	var inner struct {
		Message string `json:"message"`
	}
	var plain string
	_ = json.Unmarshal(v.Error, &inner)
	_ = json.Unmarshal(v.Error, &plain)
	s := cmp.Or(inner.Message, plain, v.Message)
	if s == "" && !strings.Contains(res.Header.Get("Content-Type"), "html") {
		s = string(b)
	}
	s = strings.Join(strings.Fields(s), " ")
	return cmp.Or(cutAt(s, 300), http.StatusText(res.StatusCode))
}

// idleBody gives up when nothing comes for too long.
type idleBody struct {
	io.Closer
	r      io.Reader
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
}

func (b *idleBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF && errors.Is(context.Cause(b.ctx), errIdle) { //nolint:errorlint // io.Reader's contract
		err = errIdle
	}
	if n > 0 {
		b.timer.Reset(b.idle)
	}
	return n, err
}

func (b *idleBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.Closer.Close()
}

// A modelError is why a turn failed, for a person: what, where, what to do.
type modelError struct {
	text  string
	err   error
	again bool          // whether another try may help
	dial  bool          // nothing is there at all
	after time.Duration // how long to wait before, if the endpoint said so; else 0
}

func (e *modelError) Error() string { return e.text }
func (e *modelError) Unwrap() error { return e.err }

// explain turns any error of a turn into a modelError, or into the cause of
// ctx's end if that is what it was.
func (e Endpoint) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var status *statusError
	if errors.As(err, &status) {
		return e.explainStatus(status)
	}
	m := &modelError{err: err, again: true}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, errIdle):
		m.text = fmt.Sprintf("%s at %s sent nothing for %v", e.Name(), e.BaseURL, cmp.Or(e.Idle, DefaultIdle))
	case errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &op) && op.Op == "dial" && !errors.As(err, &dns):
		m.dial = true
		m.text = fmt.Sprintf("%s: no connection to %s (%v); is the server running, is the address right?", e.Name(), e.BaseURL, root(err))
	case errors.As(err, &dns):
		m.dial = true
		m.text = fmt.Sprintf("%s: %s: host %s was not found; is the address right?", e.Name(), e.BaseURL, dns.Name)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		m.text = fmt.Sprintf("%s: the connection to %s broke in the middle of the answer", e.Name(), e.BaseURL)
	default:
		m.text = fmt.Sprintf("%s at %s: %v", e.Name(), e.BaseURL, root(err))
	}
	return m
}

// root returns the innermost error: the libraries wrap it in their own words.
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

func (e Endpoint) explainStatus(s *statusError) error {
	m := &modelError{err: s, after: retryAfter(s.after)}
	said := fmt.Sprintf("%s at %s answered %d: %s", e.Name(), e.BaseURL, s.status, s.text)
	switch {
	case s.status == http.StatusUnauthorized, s.status == http.StatusForbidden:
		if e.Key == "" {
			m.text = said + "; no key was sent" + hint("; set ", e.KeyEnv)
		} else {
			m.text = said + "; is the key right?" + hint(" it came from ", cmp.Or(map[bool]string{true: "ANTHROPIC_AUTH_TOKEN"}[e.Bearer], e.KeyEnv))
		}
	case s.status == http.StatusNotFound:
		m.text = fmt.Sprintf("%s; is the model's name (%s) right, and the address?", said, e.Model)
	case s.status == http.StatusRequestTimeout, s.status == http.StatusConflict, s.status == http.StatusTooManyRequests, s.status >= 500:
		m.text, m.again = said, true
	default:
		m.text = said
	}
	return m
}

func hint(before, name string) string {
	if name == "" {
		return ""
	}
	return before + name
}

// retryAfter reads seconds or a date; 0 if there is neither.
func retryAfter(s string) time.Duration {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n > 0 {
		return time.Duration(n * float64(time.Second))
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
