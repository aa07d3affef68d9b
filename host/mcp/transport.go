package mcp

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client until in ends or ctx is done.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	// The SDK calls it an error that ctx ends the run.
	quiet := *s
	if s.Log != nil {
		quiet.Log = slog.New(untilDone{s.Log.Handler(), ctx})
	}
	err := quiet.sdkServer().Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// untilDone lets nothing through after ctx is done.
type untilDone struct {
	slog.Handler
	ctx context.Context
}

func (h untilDone) Enabled(ctx context.Context, l slog.Level) bool {
	return h.ctx.Err() == nil && h.Handler.Enabled(ctx, l)
}

// Limits of the HTTP server: the size of a request in bytes, and how long a
// client may take over its headers and a session may idle.
const (
	maxBody       = 8 << 20
	headerTimeout = 10 * time.Second
	sessionIdle   = 30 * time.Minute
)

// modern is the first revision of the protocol without sessions.
const modern = "2026-07-28"

// Handler returns the HTTP handler. It answers only requests that carry the
// bearer token, and none that a web page of another origin has made.
func (s *Server) Handler(token string) http.Handler {
	srv := s.sdkServer()
	get := func(*http.Request) *sdk.Server { return srv }
	sessions := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{SessionTimeout: sessionIdle, Logger: s.Log})
	stateless := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true, Logger: s.Log})
	route := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// One handler can't do both: the one with sessions refuses modern
		// clients, and the stateless one can't ask older clients anything.
		if r.Method == http.MethodPost && (r.Header.Get("Mcp-Protocol-Version") >= modern || r.Header.Get("Mcp-Method") != "") {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(sameOrigin(bearer(token, http.MaxBytesHandler(route, maxBody))))
}

// sameOrigin refuses reads from other origins too; CrossOriginProtection lets
// safe methods through, and here GET opens a stream of a session's messages.
func sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host && o != "https://"+r.Host {
			http.Error(w, "requests from other origins are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func bearer(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="whet"`)
			http.Error(w, "the bearer token is missing or wrong", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP serves clients on l until ctx is done.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, token string) error {
	srv := &http.Server{
		Handler:           s.Handler(token),
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
