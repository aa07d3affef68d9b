package webfetch

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
)

// Options configure fetching. The zero value is the default.
type Options struct {
	Enabled   *bool    `json:"enabled,omitempty" doc:"whether the tool webfetch is offered; default true"`
	Model     []string `json:"model,omitempty" doc:"models that answer a prompt about a page, as provider/model or provider/model#variant, first choice first"`
	LLMs      string   `json:"llmsTxt,omitempty" enum:"scoped,replace" doc:"use of a site's llms.txt when the call doesn't say: scoped (for the pages below it) or replace (in place of every page of a documentation host); default scoped"`
	DocsHosts []string `json:"docsHosts,omitempty" doc:"further hosts that are probed for llms.txt: example.com or *.example.com"`
	KeepURLs  bool     `json:"keepUrls,omitempty" doc:"fetch the pages that show a file on code hosts as they are, not the file itself"`
	MaxLength int      `json:"maxLength,omitempty" min:"1000" doc:"characters of a page that an agent is given at once; default 40000"`
	BinaryDir string   `json:"binaryDir,omitempty" layer:"user" doc:"directory for saved files; default whet-webfetch in the system's temporary directory"`

	// Network limits what may be reached.
	Network Network `json:"-"`
	// CacheDir keeps pages between processes; empty means memory only.
	CacheDir string `json:"-"`
	// Summarizers answer prompts, tried in order.
	Summarizers []Summarizer `json:"-"`
	// Version is sent in the user agent.
	Version string `json:"-"`
	// Progress hears of downloads: bytes so far, and in all, 0 when unknown.
	Progress func(done, total int64, url string) `json:"-"`
}

// Loopback says when this machine's own servers may be fetched from.
type Loopback string

// The choices for Loopback. Explicit is the default: only when the URL that
// was given names localhost, 127.0.0.1 or [::1], never by a redirect or by a
// public name.
const (
	LoopbackExplicit Loopback = "explicit"
	LoopbackNever    Loopback = "never"
	LoopbackAlways   Loopback = "always"
)

// Network is the part of the configuration called network. A project can't set
// it: a page that an agent reads could ask for that.
type Network struct {
	AllowHosts         []string `json:"allowHosts,omitempty" layer:"user" doc:"hosts that may have private addresses: intra.example.com or *.example.com"`
	AllowCIDRs         []string `json:"allowCidrs,omitempty" layer:"user" doc:"private address ranges that may be reached, such as 10.1.0.0/16"`
	Loopback           Loopback `json:"loopback,omitempty" layer:"user" enum:"explicit,never,always" doc:"when this machine's own servers may be fetched from; default explicit: if the URL itself names localhost, 127.0.0.1 or [::1]"`
	RedirectHosts      []string `json:"redirectHosts,omitempty" layer:"user" doc:"hosts to which redirects of other sites may lead"`
	Proxy              string   `json:"proxy,omitempty" layer:"user" doc:"URL of the proxy; by default HTTP_PROXY, HTTPS_PROXY and NO_PROXY decide"`
	UserAgent          string   `json:"userAgent,omitempty" layer:"user" doc:"user agent in place of whet's own"`
	AlternateUserAgent string   `json:"alternateUserAgent,omitempty" layer:"user" doc:"user agent for the one retry after a bot challenge; default whet"`
	AcceptLanguage     string   `json:"acceptLanguage,omitempty" doc:"header Accept-Language; default en;q=0.8,*;q=0.5"`
	Robots             string   `json:"robots,omitempty" enum:"off,warn,enforce" doc:"obedience to robots.txt; default off, since one page for a person is not crawling"`
}

// A Summarizer is a model that answers a prompt about a text.
type Summarizer struct {
	Name      string // as reported: "provider/model"
	Summarize func(ctx context.Context, prompt, text string) (string, error)
}

// check finds mistakes in the options.
func (o *Options) check() ([]netip.Prefix, error) {
	var ps []netip.Prefix
	for _, s := range o.Network.AllowCIDRs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, err2 := netip.ParseAddr(s)
			if err2 != nil {
				return nil, fmt.Errorf("network.allowCidrs: %q is not an address range such as 10.1.0.0/16", s)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		ps = append(ps, p.Masked())
	}
	for _, c := range []struct{ name, got, want string }{
		{"network.loopback", string(o.Network.Loopback), "explicit never always"},
		{"network.robots", o.Network.Robots, "off warn enforce"},
		{"webfetch.llmsTxt", o.LLMs, "scoped replace"},
	} {
		if c.got != "" && !strings.Contains(" "+c.want+" ", " "+c.got+" ") {
			return nil, fmt.Errorf("%s: %q is not one of %s", c.name, c.got, strings.ReplaceAll(c.want, " ", ", "))
		}
	}
	return ps, nil
}
