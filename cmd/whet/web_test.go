//go:build unix

package main

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/whet-dev/whet/internal/peer"
	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
)

// page starts whet serve --web and returns its address.
func (s *stage) page() *url.URL {
	s.Helper()
	cmd := exec.Command(whetBinary(s.T), "serve", "--web")
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Fatal(err)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		s.Fatal(err)
	}
	return u
}

// The page is for whoever has its address, on this machine, and for no page of
// another site.
func TestWebIsGuarded(t *testing.T) {
	s := newStage(t, scriptmodel.Script{})
	u := s.page()
	key := &http.Cookie{Name: "whet" + u.Port(), Value: u.Query().Get("token")}
	stale := &http.Cookie{Name: key.Name, Value: strings.ToLower(key.Value)}
	for _, tt := range []struct {
		name, method, path, host, origin string
		cookie                           *http.Cookie
		want                             int
	}{
		{"the key", "GET", "/", "", "", key, 200},
		{"the address", "GET", "/?" + u.RawQuery, "", "", nil, 200},
		{"script", "GET", "/board.js", "", "", key, 200},
		{"by localhost", "GET", "/", "localhost:" + u.Port(), "", key, 200},
		{"no key", "GET", "/", "", "", nil, 401},
		{"no key for the script", "GET", "/board.js", "", "", nil, 401},
		{"no key for events", "GET", "/events", "", "", nil, 401},
		{"a wrong key", "GET", "/", "", "", stale, 401},
		{"a wrong address", "GET", "/?token=x", "", "", nil, 401},
		{"a rebound name", "GET", "/?" + u.RawQuery, "evil.example:" + u.Port(), "", key, 403},
		{"another site's form", "POST", "/cancel", "", "http://evil.example", key, 403},
		{"another port's form", "POST", "/cancel", "", "http://127.0.0.1:1", key, 403},
		{"its own", "POST", "/cancel", "", "http://" + u.Host, key, 502}, // there is no runner
		{"looking is not steering", "GET", "/cancel", "", "", key, 404},
		{"what isn't there", "GET", "/web.go", "", "", key, 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+u.Host+tt.path, strings.NewReader(`{"ID":"exp-1"}`))
		if err != nil {
			t.Fatal(err)
		}
		if tt.host != "" {
			req.Host = tt.host
		}
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		if tt.cookie != nil {
			req.AddCookie(tt.cookie)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s: %s, want %d", tt.name, resp.Status, tt.want)
		}
		if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; ") {
			t.Errorf("%s: its policy is %q", tt.name, csp)
		}
	}
}

// A person at a real browser sees tasks come, live and end, and steers them.
// Whatever a model calls its task is shown as text.
func TestWebPage(t *testing.T) {
	chromium := peer.Find(t, "chromium")
	s := newStage(t, scriptmodel.Script{
		"slow":  {{Text: "I wait.", DelayMS: 60_000}},
		"again": {{Text: "Now it is done: <script>document.title='owned'</script> \u202eknod"}},
	})
	s.serve()
	u := s.page()

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox) // tests run as root too
	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	defer end()
	browser, end := chromedp.NewContext(allocator)
	defer end()
	do := func(what string, actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(browser, actions...); err != nil {
			body, _ := chromedp.Run(browser, chromedp.Text(chromedp.CSS("body")))
			t.Fatalf("%s: %v; the page:\n%s", what, err, body)
		}
	}
	shows := func(selector, text string) chromedp.Action[chromedp.Void] {
		seen := chromedp.PollFunction[bool](`(s, t) => [...document.querySelectorAll(s)].some(e => !e.closest("[hidden]") && e.textContent.includes(t))`,
			chromedp.WithPollingArgs(selector, text), chromedp.WithPollingTimeout(20*time.Second))
		return func(ctx context.Context, on *chromedp.Target) (chromedp.Void, error) {
			_, err := seen(ctx, on)
			return chromedp.Void{}, err
		}
	}
	click := func(selector string) chromedp.Action[chromedp.Void] { return chromedp.Click(chromedp.CSS(selector)) }
	say := func(words string) chromedp.Action[chromedp.Void] {
		return chromedp.SendKeys(chromedp.CSS("#words"), words)
	}

	do("an empty board", chromedp.Navigate(u.String()), shows("#empty", "No background tasks here"))
	reply, err := s.ask("/launch", task.Request{Worker: "explorer", Title: `<b id="owned">find</b> it`, Text: "[[script:slow]] go"})
	if err != nil {
		t.Fatal(err)
	}
	do("a task that came", shows(".running b", "exp-1"), shows(".title", `<b id="owned">find</b> it`), shows("#sum", "1 task, 1 open"))
	do("a look at it", click("#tasks button"), shows("#d-prompt", "[[script:slow]] go"), shows("#d-log li", "launched"))
	do("a message", say("look in docs too"), click(`[data-do=message]`), shows("#d-said", "exp-1"))
	do("a cancellation", say("enough"), click(`[data-do=cancel]`), shows(".cancelled b", "exp-1"), shows("#d-answer", "enough"), shows("#d-said", "cancelled"))
	do("a revival", say("[[script:again]] go on"), click(`[data-do=revive]`), shows(".completed b", "exp-1"), shows("#d-answer", "Now it is done: <script>"), shows("#d-answer", "\ufffdknod"))
	do("a refusal", say("hello"), click(`[data-do=message]`), shows("#d-said", "reads no messages"))
	title, err := chromedp.Run(browser, chromedp.Title())
	if err != nil {
		t.Fatal(err)
	}
	owned, err := chromedp.Run(browser, chromedp.Evaluate[bool](`document.getElementById("owned") != null`))
	if err != nil {
		t.Fatal(err)
	}
	if title != "whet board" || owned {
		t.Errorf("a task's words became part of the page: title %q", title)
	}
	if got, err := s.ask("/status", task.Request{ID: reply.Task.ID}); err != nil || got.Task.Gen != 2 || got.Task.Phase != task.Completed {
		t.Errorf("%+v, %v", got, err)
	}
	s.kill()
	do("a dead runner is started again", chromedp.Reload(), shows(".completed b", "exp-1"))
}
