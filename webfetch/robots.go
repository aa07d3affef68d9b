package webfetch

import (
	"context"
	"io"
	"time"

	"github.com/temoto/robotstxt"
)

const (
	maxRobots     = 500 << 10
	robotsTTL     = 24 * time.Hour
	robotsTimeout = 5 * time.Second
)

type robotsFile struct {
	group *robotstxt.Group // nil allows everything
	deny  bool             // the server couldn't say
	until time.Time
}

// askRobots applies the site's robots.txt as RFC 9309 says: no file allows, a
// server in trouble forbids. Fetching one page for a person is not crawling, so
// it's off unless the configuration asks for it.
func (f *Fetcher) askRobots(ctx context.Context, a *address) (forbidden bool, err error) {
	if f.opt.Network.Robots != "enforce" && f.opt.Network.Robots != "warn" {
		return false, nil
	}
	path := a.url.Pathname() + a.url.Search()
	r := f.robotsFor(ctx, a)
	if !r.deny && (r.group == nil || r.group.Test(path)) {
		return false, nil
	}
	if f.opt.Network.Robots == "warn" {
		return true, nil
	}
	why := "the site's robots.txt forbids this page"
	if r.deny {
		why = "the site's robots.txt can't be read, which forbids everything"
	}
	return true, &Error{Kind: Robots, URL: a.href(), Message: why, Hint: "A person can allow it with network.robots = \"off\"."}
}

func (f *Fetcher) robotsFor(ctx context.Context, a *address) *robotsFile {
	first, fallback := f.schemes(a)
	key := origin(first)
	f.mu.Lock()
	r := f.robots[key]
	f.mu.Unlock()
	now := f.hooks.now()
	if r != nil && now.Before(r.until) {
		return r
	}
	r = f.fetchRobots(ctx, a, key)
	if r.deny && fallback != nil {
		r = f.fetchRobots(ctx, a, origin(fallback))
	}
	r.until = now.Add(robotsTTL)
	f.mu.Lock()
	if len(f.robots) > 1000 {
		clear(f.robots)
	}
	f.robots[key] = r
	f.mu.Unlock()
	return r
}

func (f *Fetcher) fetchRobots(ctx context.Context, a *address, site string) *robotsFile {
	ctx, cancel := context.WithTimeout(ctx, robotsTimeout)
	defer cancel()
	u, err := resolve(a.url, site+"/robots.txt")
	if err != nil {
		return &robotsFile{}
	}
	w, err := f.newExchange(a, "text/plain").follow(ctx, u)
	if err != nil {
		return &robotsFile{deny: true}
	}
	defer w.done()
	switch {
	case w.StatusCode >= 500:
		return &robotsFile{deny: true}
	case w.StatusCode >= 400:
		return &robotsFile{}
	}
	raw, err := io.ReadAll(io.LimitReader(w.Body, maxRobots))
	if err != nil {
		return &robotsFile{deny: true}
	}
	text, _, err := unpack(w.Header.Get("Content-Encoding"), raw, false)
	if err != nil {
		return &robotsFile{}
	}
	parsed, err := robotstxt.FromBytes(text)
	if err != nil {
		return &robotsFile{}
	}
	return &robotsFile{group: parsed.FindGroup("whet")}
}
