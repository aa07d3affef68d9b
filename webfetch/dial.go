package webfetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// dialTimeout bounds one connection attempt, tlsTimeout the handshake.
const (
	dialTimeout = 10 * time.Second
	tlsTimeout  = 10 * time.Second
)

// hooks stand in for the network in tests. Nothing in the configuration sets
// them.
type hooks struct {
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, network, addr string) (net.Conn, error)
	tls     *tls.Config
	now     func() time.Time
}

type ruleKey struct{}

// addressError is a refused address on its way through net/http.
type addressError struct{ why string }

func (e *addressError) Error() string { return e.why }

func (f *Fetcher) newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  f.proxyOf,
		DialContext:            f.dial,
		TLSClientConfig:        f.hooks.tls,
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true, // a DialContext of one's own turns it off
		DisableCompression:     true, // bodies are decoded under our own limits
		MaxResponseHeaderBytes: 256 << 10,
		MaxIdleConnsPerHost:    4,
		MaxIdleConns:           32,
		IdleConnTimeout:        30 * time.Second,
		OnProxyConnectResponse: proxyAnswer,
	}
}

// proxyError is a proxy's refusal to connect, with its reason if it gave one.
type proxyError struct{ status, reason string }

func (e *proxyError) Error() string {
	return strings.TrimSuffix("the proxy refused the connection: "+e.status+" ("+e.reason+")", " ()")
}

func proxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	reason := ""
	for _, k := range []string{"X-Deny-Reason", "X-Squid-Error", "X-Reason", "Proxy-Status"} {
		if reason = res.Header.Get(k); reason != "" {
			break
		}
	}
	return &proxyError{res.Status, clip(reason, 300)}
}

func (f *Fetcher) proxyOf(req *http.Request) (u *url.URL, err error) {
	return f.proxy(req.URL)
}

// proxyFunc decides once where requests go.
func proxyFunc(configured string) func(*url.URL) (*url.URL, error) {
	c := httpproxy.FromEnvironment()
	if configured != "" {
		c.HTTPProxy, c.HTTPSProxy = configured, configured
	}
	return c.ProxyFunc()
}

// dial looks the name up once, refuses it if any of its addresses is out of
// bounds, and connects to what was looked up: no second answer can differ.
func (f *Fetcher) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	r, _ := ctx.Value(ruleKey{}).(*rule)
	if r == nil {
		return nil, errors.New("a connection without a rule")
	}
	if r.proxy == addr {
		return f.hooks.connect(withRule(ctx, &rule{trusted: true}), network, addr)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	addrs, err := f.hooks.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if why := r.judge(a); why != "" {
			if _, err := netip.ParseAddr(host); err != nil {
				why = host + " has the address " + a.String() + "; " + why
			}
			return nil, &addressError{why}
		}
	}
	return f.race(ctx, network, addrs, port)
}

// race tries the addresses in turn, each a moment after the last, and takes
// the first that connects.
func (f *Fetcher) race(ctx context.Context, network string, addrs []netip.Addr, port string) (net.Conn, error) {
	if len(addrs) == 0 {
		return nil, errors.New("the name has no addresses")
	}
	addrs = addrs[:min(len(addrs), 6)]
	ctx, cancel := context.WithCancel(ctx)
	type answer struct {
		conn net.Conn
		err  error
	}
	answers := make(chan answer, len(addrs))
	start := func(a netip.Addr) {
		go func() {
			c, err := f.hooks.connect(ctx, network, net.JoinHostPort(a.String(), port))
			answers <- answer{c, err}
		}()
	}
	start(addrs[0])
	started, pending := 1, 1
	var first error
	defer func() {
		cancel()
		if pending > 0 {
			go func(n int) { // close what still connects after the race
				for range n {
					if a := <-answers; a.conn != nil {
						a.conn.Close()
					}
				}
			}(pending)
		}
	}()
	for pending > 0 || started < len(addrs) {
		var next <-chan time.Time
		if started < len(addrs) {
			next = time.After(250 * time.Millisecond)
		}
		select {
		case a := <-answers:
			pending--
			if a.err == nil {
				return a.conn, nil
			}
			if first == nil {
				first = a.err
			}
			if started < len(addrs) {
				start(addrs[started])
				started, pending = started+1, pending+1
			}
		case <-next:
			start(addrs[started])
			started, pending = started+1, pending+1
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, first
}

// connectGuarded dials for real, and judges the address that the socket is
// about to connect to.
func connectGuarded(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("judging the address %s: %w", address, err)
		}
		r, _ := ctx.Value(ruleKey{}).(*rule)
		if r == nil {
			return errors.New("a connection without a rule")
		}
		if why := r.judge(ap.Addr()); why != "" {
			return &addressError{why}
		}
		return nil
	}}
	return d.DialContext(ctx, network, addr)
}

func lookupSystem(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func withRule(ctx context.Context, r *rule) context.Context {
	return context.WithValue(ctx, ruleKey{}, r)
}
