package webfetch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// special lists the special-purpose addresses that no page is fetched from:
// the IANA registries of RFC 6890 for both families, multicast and the
// deprecated site-local and 6to4 relay ranges.
var special = sync.OnceValue(func() []netip.Prefix {
	const list = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
		192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
		203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23
		2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`
	var ps []netip.Prefix
	for p := range strings.FieldsSeq(list) {
		ps = append(ps, netip.MustParsePrefix(p))
	}
	return ps
})

// fakeIP is the range in which some local proxies answer for every name.
var fakeIP = sync.OnceValue(func() netip.Prefix { return netip.MustParsePrefix("198.18.0.0/15") })

// embedded returns the IPv4 address that an IPv6 one carries by translation
// (NAT64) or tunnel (6to4): that is the host it leads to.
func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a), netip.MustParsePrefix("64:ff9b:1::/48").Contains(a):
		return netip.AddrFrom4([4]byte(b[12:])), true
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// judge returns why an address must not be reached, or "".
func judge(a netip.Addr, allowed []netip.Prefix, loopback bool) string {
	a = a.WithZone("").Unmap()
	if slices.ContainsFunc(allowed, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return ""
	}
	if a.IsLoopback() && loopback {
		return ""
	}
	if a.Is6() {
		if v4, ok := embedded(a); ok {
			if why := judge(v4, allowed, false); why != "" {
				return fmt.Sprintf("%s leads to %s", a, why)
			}
			return ""
		}
	}
	for _, p := range special() {
		if !p.Contains(a) {
			continue
		}
		if fakeIP().Contains(a) {
			return fmt.Sprintf("%s is in 198.18.0.0/15, which local proxies answer with for every name; "+
				"if that is so here, add it to network.allowCidrs", a)
		}
		return fmt.Sprintf("%s is in the special-purpose range %s", a, p)
	}
	return ""
}

// A rule is what one request may reach. It travels with the request to the
// dialer, which has the last word on the address really connected to.
type rule struct {
	cidrs    []netip.Prefix
	loopback bool
	trusted  bool   // the host is in network.allowHosts
	proxy    string // host:port of the proxy that is dialled instead
}

func (r *rule) judge(a netip.Addr) string {
	if r.trusted {
		return ""
	}
	return judge(a, r.cidrs, r.loopback)
}

// namesLoopback reports whether a URL says in so many words that it means this
// machine.
func namesLoopback(u *whatwg.Url) bool {
	h := hostOf(u)
	if h == "localhost" || strings.HasSuffix(h, ".localhost") {
		return true
	}
	a, ok := literal(u)
	return ok && a.Unmap().IsLoopback()
}

// explicitLoopback reports whether the URL as typed names localhost,
// 127.0.0.1 or [::1] itself: other spellings of these addresses hide it.
func explicitLoopback(a *address) bool {
	if !namesLoopback(a.url) {
		return false
	}
	t := strings.ToLower(a.typed)
	for _, name := range []string{"localhost", "127.0.0.1", "[::1]"} {
		for _, lead := range []string{"://" + name, name} {
			i := strings.Index(t, lead)
			if i < 0 || lead == name && i != 0 {
				continue
			}
			if rest := t[i+len(lead):]; rest == "" || strings.ContainsRune(":/?#", rune(rest[0])) {
				return true
			}
		}
	}
	return false
}

// ruleFor makes the rule for one hop, and refuses hosts that need no lookup to
// be judged.
func (f *Fetcher) ruleFor(u *whatwg.Url, loopback bool) (*rule, error) {
	r := &rule{cidrs: f.cidrs, loopback: loopback && namesLoopback(u), trusted: matchHost(f.opt.Network.AllowHosts, hostOf(u))}
	if r.loopback || r.trusted {
		return r, nil
	}
	if f.opt.Network.Loopback == LoopbackAlways {
		r.loopback = true
		return r, nil
	}
	why := ""
	if a, ok := literal(u); ok {
		why = r.judge(a)
	} else if namesLoopback(u) {
		why = hostOf(u) + " is this machine"
	}
	if why != "" {
		return nil, blocked(u, why)
	}
	return r, nil
}

func blocked(u *whatwg.Url, why string) *Error {
	return &Error{
		Kind: BlockedAddress, URL: u.Href(true), Message: "the address was not contacted: " + why,
		Hint: "Pages are fetched from public addresses only. A person can allow this one with network.allowHosts or network.allowCidrs.",
	}
}
