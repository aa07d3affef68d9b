package webfetch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A site is a small internet in memory: every host name has an address of its
// own, port 80 answers plainly and port 443 with TLS. It stands in for the
// network, not for the client, the transport or the guard, which are real.
type site struct {
	t        *testing.T
	handler  http.Handler
	noTLS    bool
	noPlain  bool
	names    map[string][]string // host → addresses in place of the one made up
	mu       sync.Mutex
	hosts    []string
	lookups  []string
	dials    []string
	requests []string // "GET https://host/path", as they arrived
	headers  []http.Header
	conns    []net.Conn
	ca       *x509.Certificate
	key      *ecdsa.PrivateKey
	leaves   map[string]*tls.Certificate
}

func newSite(t *testing.T, h http.HandlerFunc) *site {
	s := &site{t: t, handler: h, names: map[string][]string{}, leaves: map[string]*tls.Certificate{}}
	s.key, s.ca = testCA(t)
	t.Cleanup(s.close)
	return s
}

func (s *site) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

func testCA(t *testing.T) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, ca
}

func (s *site) certificate(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.leaves[h.ServerName]; c != nil {
		return c, nil
	}
	if strings.HasPrefix(h.ServerName, "badcert.") {
		return nil, errors.New("no certificate")
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: h.ServerName}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), DNSNames: []string{h.ServerName},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, s.ca, &s.key.PublicKey, s.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: s.key}
	s.leaves[h.ServerName] = c
	return c, nil
}

func (s *site) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookups = append(s.lookups, host)
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if list := s.names[host]; list != nil {
		if len(list) > 1 && list[0] == "next" { // a name that answers differently every time
			a := netip.MustParseAddr(list[1])
			s.names[host] = append(list[:1], list[2:]...)
			return []netip.Addr{a}, nil
		}
		var out []netip.Addr
		for _, a := range list {
			out = append(out, netip.MustParseAddr(a))
		}
		return out, nil
	}
	if strings.HasPrefix(host, "nowhere.") {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	i := slices.Index(s.hosts, host)
	if i < 0 {
		i = len(s.hosts)
		s.hosts = append(s.hosts, host)
	}
	return []netip.Addr{netip.MustParseAddr(fmt.Sprintf("93.184.216.%d", i+1))}, nil
}

func (s *site) connect(ctx context.Context, _, addr string) (net.Conn, error) {
	s.mu.Lock()
	s.dials = append(s.dials, addr)
	s.mu.Unlock()
	_, port, _ := net.SplitHostPort(addr)
	if port == "443" && s.noTLS || port != "443" && s.noPlain {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	client, server := net.Pipe()
	s.mu.Lock()
	s.conns = append(s.conns, client, server)
	s.mu.Unlock()
	var c net.Conn = server
	if port == "443" {
		c = tls.Server(server, &tls.Config{GetCertificate: s.certificate, NextProtos: []string{"h2", "http/1.1"}})
	}
	l := &oneConn{c: c}
	srv := &http.Server{Handler: http.HandlerFunc(s.serve), ErrorLog: nil}
	srv.ErrorLog = quiet()
	go srv.Serve(l)
	return client, nil
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	s.mu.Lock()
	s.requests = append(s.requests, scheme+"://"+r.Host+r.URL.RequestURI())
	s.headers = append(s.headers, r.Header.Clone())
	s.mu.Unlock()
	s.handler.ServeHTTP(w, r)
}

// count says how many requests there were for addresses that contain part.
func (s *site) count(part string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if strings.Contains(r, part) {
			n++
		}
	}
	return n
}

// contacted says how many requests went to a host or host:port.
func (s *site) contacted(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		_, rest, _ := strings.Cut(r, "://")
		at, _, _ := strings.Cut(rest, "/")
		if at == host || strings.HasSuffix(at, ":"+host) {
			n++
		}
	}
	return n
}

// fetcher makes a Fetcher on the site's network.
func (s *site) fetcher(o Options) *Fetcher {
	s.t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(s.ca)
	f, err := newFetcher(o, hooks{lookup: s.lookup, connect: s.connect, tls: &tls.Config{RootCAs: pool}})
	if err != nil {
		s.t.Fatal(err)
	}
	f.proxy = proxyFunc(o.Network.Proxy)
	s.t.Cleanup(f.Close)
	return f
}

type oneConn struct {
	c    net.Conn
	once sync.Once
	done chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	var c net.Conn
	l.once.Do(func() { c = l.c; l.done = make(chan struct{}) })
	if c == nil {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.c.LocalAddr() }

// page fetches, and fails the test on an error.
func page(t *testing.T, f *Fetcher, r Request) *Page {
	t.Helper()
	p, err := f.Fetch(t.Context(), r)
	if err != nil {
		t.Fatalf("%s: %v", r.URL, err)
	}
	return p
}

// fails fetches, and fails the test unless the error has the kind.
func fails(t *testing.T, f *Fetcher, r Request, kind Kind) *Error {
	t.Helper()
	p, err := f.Fetch(t.Context(), r)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: got page %v and error %v, want kind %s", r.URL, p, err, kind)
	}
	if e.Kind != kind {
		t.Fatalf("%s: kind %s (%s), want %s", r.URL, e.Kind, e.Message, kind)
	}
	return e
}

func contains(t *testing.T, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%q is missing in:\n%s", p, clip(s, 3000))
		}
	}
}

func lacks(t *testing.T, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(s, p) {
			t.Errorf("%q is in:\n%s", p, clip(s, 3000))
		}
	}
}
