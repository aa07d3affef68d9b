package webfetch

import (
	"container/list"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	cacheBytes  = 50 << 20
	cacheTTL    = 15 * time.Minute
	staleTTL    = time.Hour // how long a stale page may stand in for one that can't be had
	cacheSchema = schema
)

// A cache keeps processed pages by their last use, up to a number of bytes.
type cache struct {
	mu    sync.Mutex
	byKey map[string]*list.Element
	order list.List
	bytes int
	disk  *disk
}

type cached struct {
	keys []string
	doc  *document
}

func newCache(dir string) *cache {
	c := &cache{byKey: map[string]*list.Element{}}
	if dir != "" {
		c.disk = &disk{dir: dir}
	}
	return c
}

// get returns a document that may be stale; see [document.fresh].
func (c *cache) get(key string) *document {
	c.mu.Lock()
	if e := c.byKey[key]; e != nil {
		c.order.MoveToFront(e)
		c.mu.Unlock()
		return e.Value.(*cached).doc
	}
	c.mu.Unlock()
	if c.disk == nil {
		return nil
	}
	d := c.disk.get(key)
	if d != nil {
		c.remember([]string{key}, d)
	}
	return d
}

// put keeps a document under several keys.
func (c *cache) put(keys []string, d *document) {
	c.remember(keys, d)
	if c.disk != nil {
		for _, k := range keys {
			c.disk.put(k, d)
		}
	}
}

func (c *cache) remember(keys []string, d *document) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		if e := c.byKey[k]; e != nil {
			c.drop(e)
		}
	}
	if d.size() > cacheBytes {
		return
	}
	e := c.order.PushFront(&cached{keys: slices.Clone(keys), doc: d})
	for _, k := range keys {
		c.byKey[k] = e
	}
	c.bytes += d.size()
	for c.bytes > cacheBytes && c.order.Len() > 1 {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	x := c.order.Remove(e).(*cached)
	for _, k := range x.keys {
		if c.byKey[k] == e {
			delete(c.byKey, k)
		}
	}
	c.bytes -= x.doc.size()
}

func (c *cache) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[key]; e != nil {
		c.drop(e)
	}
}

// fresh reports whether a document may be used without asking the server.
// MaxAge, in seconds, is the caller's own limit; nil is none.
func (d *document) fresh(now time.Time, maxAge *int) bool {
	if maxAge != nil && now.Sub(d.Stored) >= time.Duration(*maxAge)*time.Second {
		return false
	}
	return now.Before(d.Expires)
}

// keepFor is how long an answer may be used again; false means not at all.
func keepFor(cacheControl, vary string) (time.Duration, bool) {
	ttl := cacheTTL
	for d := range strings.SplitSeq(strings.ToLower(cacheControl), ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(d), "=")
		switch k {
		case "no-store", "private":
			if k == "no-store" {
				return 0, false
			}
		case "no-cache":
			ttl = 0
		case "max-age":
			if n, err := strconv.Atoi(strings.Trim(v, `"`)); err == nil && n >= 0 {
				ttl = min(ttl, time.Duration(n)*time.Second)
			}
		}
	}
	if strings.TrimSpace(vary) == "*" {
		return 0, false
	}
	return ttl, true
}

// A flight lets calls for the same page share one fetch.
type flight struct {
	mu    sync.Mutex
	calls map[string]*flightCall
}

type flightCall struct {
	done chan struct{}
	doc  *document
	err  error
}

// join returns the running call for key, or starts one; own says which.
func (g *flight) join(key string) (c *flightCall, own bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.calls[key]; c != nil {
		return c, false
	}
	c = &flightCall{done: make(chan struct{})}
	if g.calls == nil {
		g.calls = map[string]*flightCall{}
	}
	g.calls[key] = c
	return c, true
}

func (g *flight) finish(key string, c *flightCall, d *document, err error) {
	g.mu.Lock()
	delete(g.calls, key)
	g.mu.Unlock()
	c.doc, c.err = d, err
	close(c.done)
}
