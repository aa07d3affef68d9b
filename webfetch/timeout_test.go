package webfetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stubborn servers, on a clock that only moves when everybody waits.
func slow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	flush := func() { w.(http.Flusher).Flush() }
	switch r.URL.Path {
	case "/stall-headers":
		<-r.Context().Done()
	case "/stall-body":
		fmt.Fprint(w, "beginning")
		flush()
		<-r.Context().Done()
	case "/drip":
		for r.Context().Err() == nil {
			fmt.Fprint(w, "a")
			flush()
			time.Sleep(time.Second)
		}
	case "/late":
		time.Sleep(35 * time.Second)
		fmt.Fprint(w, "finally")
	case "/ok":
		fmt.Fprint(w, "ok")
	}
}

func TestTimeouts(t *testing.T) {
	for _, tt := range []struct {
		path    string
		timeout float64
		phase   string
		within  time.Duration
	}{
		{"/stall-headers", 2, "headers", 2 * time.Second},
		{"/stall-body", 2, "body", 2 * time.Second},
		{"/drip", 2, "body", 2 * time.Second},
		{"/stall-body", 60, "body", 10 * time.Second}, // a body that stands still is given up sooner
		{"/late", 0, "headers", 30 * time.Second},
		{"/late", 60, "", 35 * time.Second},
	} {
		t.Run(fmt.Sprintf("%s %v", tt.path, tt.timeout), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, slow)
				f := s.fetcher(Options{})
				start := time.Now()
				r := Request{URL: "http://example.test:8080" + tt.path, Timeout: tt.timeout}
				if tt.phase == "" {
					page(t, f, r)
				} else if e := fails(t, f, r, Timeout); e.Phase != tt.phase {
					t.Errorf("phase %q, want %q (%s)", e.Phase, tt.phase, e.Message)
				}
				if took := time.Since(start); took > tt.within+500*time.Millisecond {
					t.Errorf("took %v", took)
				}
				f.Close()
				s.close()
				time.Sleep(40 * time.Second) // the server may be asleep
				synctest.Wait()
			})
		})
	}
}

func TestCancelledMidBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan time.Time, 1)
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, strings.Repeat("x", 100))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			closed <- time.Now()
		})
		f := s.fetcher(Options{})
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := f.Fetch(ctx, Request{URL: "http://example.test:8080/"})
		var e *Error
		if !errors.As(err, &e) || e.Kind != Cancelled {
			t.Errorf("got %v", err)
		}
		at := time.Now()
		if d := (<-closed).Sub(at); d > 200*time.Millisecond {
			t.Errorf("the server saw the end %v later", d)
		}
		f.Close()
		s.close()
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines are left of %d", n, before)
		}
	})
}

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := map[string]int{}
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			tries[r.URL.Path]++
			again := tries[r.URL.Path] > 1
			switch r.URL.Path {
			case "/soon":
				if !again {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(429)
					return
				}
			case "/later":
				w.Header().Set("Retry-After", "600")
				w.WriteHeader(503)
				return
			case "/cut":
				if !again {
					panic(http.ErrAbortHandler)
				}
			case "/cf":
				if r.UserAgent() != "whet" {
					w.Header().Set("Cf-Mitigated", "challenge")
					w.WriteHeader(403)
					return
				}
			case "/cf-always":
				w.Header().Set("Cf-Mitigated", "challenge")
				w.WriteHeader(403)
				return
			case "/404":
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(404)
				fmt.Fprint(w, `{"error":"no such thing","try":"/v2/thing"}`)
				return
			}
			fmt.Fprint(w, "fine")
		})
		f := s.fetcher(Options{})
		at := func(p string) Request { return Request{URL: "http://example.test:8080" + p} }
		for _, p := range []string{"/soon", "/cut", "/cf"} {
			if got := page(t, f, at(p)); got.Content != "fine" || tries[p] != 2 {
				t.Errorf("%s: %q after %d tries", p, got.Content, tries[p])
			}
		}
		if e := fails(t, f, at("/later"), HTTPStatus); e.RetrySecs != 600 || tries["/later"] != 1 {
			t.Errorf("retry after %d, %d tries", e.RetrySecs, tries["/later"])
		}
		fails(t, f, at("/cf-always"), BotChallenge)
		if tries["/cf-always"] != 2 {
			t.Errorf("a challenge was tried %d times", tries["/cf-always"])
		}
		e := fails(t, f, at("/404"), HTTPStatus)
		contains(t, e.Text(), "no such thing", "/v2/thing", "status_code: 404", "Did you mean")
		f.Close()
		s.close()
		synctest.Wait()
	})
}

func TestNetworkErrors(t *testing.T) {
	s := newSite(t, slow)
	f := s.fetcher(Options{})
	fails(t, f, Request{URL: "https://nowhere.test/"}, DNS)
	fails(t, f, Request{URL: "https://badcert.test/"}, TLS)
	fails(t, f, Request{URL: "https://example.test/", Timeout: 121}, InvalidRequest)
	fails(t, f, Request{URL: "https://example.test/", Format: "pdf"}, InvalidRequest)
	fails(t, f, Request{URL: "https://example.test/", Selector: "a[["}, InvalidRequest)
	s.noTLS = true
	fails(t, f, Request{URL: "https://closed.test/"}, Connect)
}
