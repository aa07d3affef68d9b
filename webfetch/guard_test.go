package webfetch

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// specialAddresses has an address of every special-purpose range, and both
// ends where they are easily missed.
const specialAddresses = `0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254
	172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.5
	224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
	:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::7f00:1 100::1
	2001::1 2001:db8::1 2002:7f00:1:: 2002:a9fe:a9fe::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1`

func TestJudge(t *testing.T) {
	for s := range strings.FieldsSeq(specialAddresses) {
		if judge(netip.MustParseAddr(s), nil, false) == "" {
			t.Errorf("%s is let through", s)
		}
	}
	for _, s := range []string{
		"8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8",
		"64:ff9b::808:808", "2002:808:808::1", "2a00:1450::1",
	} {
		if why := judge(netip.MustParseAddr(s), nil, false); why != "" {
			t.Errorf("%s: %s", s, why)
		}
	}
	allowed := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	if judge(netip.MustParseAddr("10.1.2.3"), allowed, false) != "" || judge(netip.MustParseAddr("10.2.2.3"), allowed, false) == "" {
		t.Error("allow_cidrs doesn't decide by its range")
	}
	if judge(netip.MustParseAddr("::ffff:127.0.0.1"), nil, true) != "" || judge(netip.MustParseAddr("64:ff9b::7f00:1"), nil, true) == "" {
		t.Error("loopback permission must cover loopback and nothing that leads to it")
	}
	if why := judge(netip.MustParseAddr("198.18.0.7"), nil, false); !strings.Contains(why, "allowCidrs") {
		t.Errorf("the fake-address range doesn't name the way out: %s", why)
	}
}

// spellings writes an IPv4 address in the ways that URL parsers accept.
func spellings(a netip.Addr) []string {
	b := a.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	dotted := func(f string) string { return fmt.Sprintf(f, b[0], b[1], b[2], b[3]) }
	return []string{
		dotted("%d.%d.%d.%d"), dotted("%d.%d.%d.%d."), fmt.Sprint(n), fmt.Sprintf("0x%x", n), fmt.Sprintf("0X%X", n), fmt.Sprintf("0%o", n),
		dotted("0x%x.0x%x.0x%x.0x%x"), dotted("0%o.0%o.0%o.0%o"), dotted("%04o.%d.%d.%d"), dotted("0x%x.%d.0%o.%d"),
		fmt.Sprintf("%d.%d", b[0], n&0xffffff), fmt.Sprintf("%d.%d.%d", b[0], b[1], n&0xffff),
		strings.NewReplacer("0", "０", "1", "１", "2", "２", ".", "。").Replace(dotted("%d.%d.%d.%d")),
		strings.ReplaceAll(dotted("%d.%d.%d.%d"), ".", "%2e"), fmt.Sprintf("%%%02x", '0'+b[0]/100) + dotted("%[1]d.%[2]d.%[3]d.%[4]d")[min(1, len(fmt.Sprint(b[0]))-1):],
		dotted("[::ffff:%d.%d.%d.%d]"), fmt.Sprintf("[::ffff:%x:%x]", n>>16, n&0xffff), fmt.Sprintf("[0:0:0:0:0:ffff:%x:%x]", n>>16, n&0xffff),
		fmt.Sprintf("[64:ff9b::%x:%x]", n>>16, n&0xffff), fmt.Sprintf("[2002:%x:%x::]", n>>16, n&0xffff), dotted("[::%d.%d.%d.%d]"),
	}
}

// TestSpecialAddressesAreNeverContacted writes every special address in every
// way, and hands it over as URL, as redirect, and as the answer for a name.
func TestSpecialAddressesAreNeverContacted(t *testing.T) {
	s := newSite(t, redirects)
	f := s.fetcher(Options{Network: Network{Loopback: LoopbackNever}})
	s.names["clean.test"] = []string{"93.184.216.34"}
	tried := 0
	try := func(url string, want ...Kind) {
		t.Helper()
		tried++
		_, err := f.Fetch(t.Context(), Request{URL: url, LLMs: "never"})
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s was fetched", url)
			return
		}
		for _, k := range want {
			if e.Kind == k {
				return
			}
		}
		t.Errorf("%s: kind %s (%s), want %v", url, e.Kind, e.Message, want)
	}
	for at := range strings.FieldsSeq(specialAddresses) {
		a := netip.MustParseAddr(at)
		hosts := []string{"[" + at + "]", "[" + strings.ToUpper(a.StringExpanded()) + "]"}
		if a.Is4() {
			hosts = spellings(a)
		}
		for _, h := range hosts {
			try("http://"+h+"/", BlockedAddress, InvalidURL) // some spellings are no URL: refused as well
			try("https://"+h+":8443/x", BlockedAddress, InvalidURL)
			try("https://clean.test/to?u=http://"+strings.ReplaceAll(h, "%", "%25")+"/", BlockedAddress, BlockedRedirect, HTTPStatus)
		}
		s.names["evil.test"] = []string{at}
		try("https://evil.test/", BlockedAddress)
		try("http://evil.test:8080/", BlockedAddress)
		s.names["half.test"] = []string{"93.184.216.40", at} // one bad answer spoils all
		try("https://half.test/", BlockedAddress)
	}
	for _, u := range []string{"http://localhost/", "http://LOCALHOST./", "http://a.localhost/", "https://localhost:3000/"} {
		try(u, BlockedAddress)
	}
	for _, r := range s.requests {
		if !strings.HasPrefix(r, "https://clean.test/") {
			t.Errorf("a request went out: %s", r)
		}
	}
	for _, d := range s.dials {
		if !strings.HasPrefix(d, "93.184.216.34:") {
			t.Errorf("a connection was tried: %s", d)
		}
	}
	t.Logf("%d URLs refused", tried)
}

func TestRebinding(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		w.Header().Set("Location", "/next")
		w.WriteHeader(302)
	})
	s.names["rebind.test"] = []string{"next", "93.184.216.34", "127.0.0.1", "127.0.0.1"}
	s.noTLS = true
	f := s.fetcher(Options{})
	fails(t, f, Request{URL: "http://rebind.test:8080/"}, BlockedAddress)
	if len(s.dials) != 1 || s.dials[0] != "93.184.216.34:8080" {
		t.Errorf("dialled %v: the second answer must not be used", s.dials)
	}
	if len(s.lookups) != 2 {
		t.Errorf("%d look-ups for two connections", len(s.lookups))
	}
}

func TestLoopbackRules(t *testing.T) {
	s := newSite(t, redirects)
	explicit := s.fetcher(Options{})
	for _, u := range []string{"http://127.0.0.1:3000/", "http://localhost:3000/", "http://[::1]:3000/"} {
		s.names["localhost"] = []string{"127.0.0.1"}
		if p := page(t, explicit, Request{URL: u}); p.Upgraded {
			t.Errorf("%s was upgraded", u)
		}
		if got := s.requests[len(s.requests)-1]; !strings.HasPrefix(got, "http://") {
			t.Errorf("%s: request %s", u, got)
		}
	}
	for _, u := range []string{
		"http://2130706433/", "http://127.1/", "http://0/", "http://0.0.0.0:3000/", "http://127.0.0.2/",
		"http://localhost.evil.test@127.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://a.localhost/", "http://017700000001/",
	} {
		_, err := explicit.Fetch(t.Context(), Request{URL: u})
		var e *Error
		if !errors.As(err, &e) || e.Kind != BlockedAddress && e.Kind != InvalidURL {
			t.Errorf("%s: %v", u, err)
		}
	}
	// A page of this machine doesn't open the rest of it.
	fails(t, explicit, Request{URL: "http://localhost:3000/to?u=http://localhost:4000/"}, BlockedRedirect)
	fails(t, explicit, Request{URL: "https://example.test/to?u=http://127.0.0.1:3000/"}, BlockedAddress)
	fails(t, explicit, Request{URL: "https://example.test/to?u=http://localhost:3000/"}, BlockedRedirect)
	fails(t, s.fetcher(Options{Network: Network{Loopback: LoopbackNever}}), Request{URL: "http://127.0.0.1:3000/"}, BlockedAddress)
	page(t, s.fetcher(Options{Network: Network{AllowHosts: []string{"intra.test"}}}), Request{URL: "https://intra.test/"})
}

func TestAllowedPrivateAddresses(t *testing.T) {
	s := newSite(t, redirects)
	s.names["intra.test"] = []string{"10.1.2.3"}
	page(t, s.fetcher(Options{Network: Network{AllowHosts: []string{"intra.test"}}}), Request{URL: "https://intra.test/"})
	page(t, s.fetcher(Options{Network: Network{AllowCIDRs: []string{"10.1.0.0/16"}}}), Request{URL: "https://intra.test/"})
	page(t, s.fetcher(Options{Network: Network{AllowCIDRs: []string{"10.1.0.0/16"}}}), Request{URL: "http://10.1.2.3/"})
	fails(t, s.fetcher(Options{Network: Network{AllowCIDRs: []string{"10.2.0.0/16"}}}), Request{URL: "https://intra.test/"}, BlockedAddress)
	fails(t, s.fetcher(Options{Network: Network{AllowHosts: []string{"*.intra.test"}}}), Request{URL: "https://intra.test/"}, BlockedAddress)
}

// TestRealDialer uses no stand-in: the real resolver and dialer against a real
// server on this machine.
func TestRealDialer(t *testing.T) {
	hits := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits++
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "here")
	}))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p := page(t, f, Request{URL: srv.URL}); p.Content != "here" {
		t.Errorf("got %q", p.Content)
	}
	for _, h := range []string{"127.1", "2130706433", "0", "[::ffff:127.0.0.1]", "127.0.0.1.", "0x7f000001"} {
		fails(t, f, Request{URL: "http://" + h + ":" + port + "/"}, BlockedAddress)
	}
	never, err := New(Options{Network: Network{Loopback: LoopbackNever}})
	if err != nil {
		t.Fatal(err)
	}
	defer never.Close()
	fails(t, never, Request{URL: srv.URL}, BlockedAddress)
	if hits != 1 {
		t.Errorf("the server was reached %d times", hits)
	}
	// The dialer judges the socket's address itself, whoever looked it up.
	if _, err := connectGuarded(withRule(t.Context(), &rule{}), "tcp", srv.Listener.Addr().String()); err == nil {
		t.Error("the dialer connected to this machine without permission")
	}
	if _, err := connectGuarded(t.Context(), "tcp", srv.Listener.Addr().String()); err == nil {
		t.Error("the dialer connected without a rule")
	}
}

func TestNoHookInConfiguration(t *testing.T) {
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%p", f.hooks.connect) != fmt.Sprintf("%p", connectGuarded) || f.hooks.tls != nil {
		t.Error("a fetcher made from options must use the guarded dialer and the system's roots")
	}
}

func TestProxy(t *testing.T) {
	var connects []string
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			connects = append(connects, r.Host)
			w.Header().Set("X-Deny-Reason", "policy: host not allowed")
			http.Error(w, "denied by policy", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "by proxy: %s", r.RequestURI)
	})
	s.noTLS = true
	f := s.fetcher(Options{Network: Network{Proxy: "http://10.9.8.7:3128"}})
	if p := page(t, f, Request{URL: "http://example.test:8000/x"}); p.Content != "by proxy: http://example.test:8000/x" || p.SSRFCheck != "name-only" {
		t.Errorf("content %q, check %q", p.Content, p.SSRFCheck)
	}
	for _, u := range []string{"http://10.0.0.5:8000/", "http://169.254.169.254/", "http://2130706433/", "http://localhost.:1/"} {
		fails(t, f, Request{URL: u}, BlockedAddress)
	}
	e := fails(t, f, Request{URL: "https://example.test/"}, Connect)
	contains(t, e.Message, "proxy", "policy: host not allowed")
	if len(connects) != 1 || connects[0] != "example.test:443" {
		t.Errorf("CONNECT for %v", connects)
	}
}
