package webfetch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

// Options configure fetching. The zero value is the default.
type Options struct {
	// Enabled says whether the tool is offered; true when absent.
	Enabled *bool `json:"enabled,omitempty"`
	// Model names the models that answer a prompt about a page, first choice first.
	Model Models `json:"model,omitempty"`
	// LLMs is how a site's llms.txt is used when the call doesn't say:
	// "scoped" (for the pages below it) or "replace" (in place of any page of a documentation host).
	LLMs string `json:"llms,omitempty"`
	// DocsHosts are further hosts that are probed for llms.txt: "example.com" or "*.example.com".
	DocsHosts []string `json:"docs_hosts,omitempty"`
	// NoRewrite turns off the rewriting of addresses of code hosts to the raw file.
	NoRewrite bool `json:"no_rewrite,omitempty"`
	// MaxLength is how many characters of a page are returned at once; 0 is all.
	MaxLength int `json:"max_length,omitempty"`
	// BinaryDir is where saved files go; by default a directory below the system's temporary one.
	BinaryDir string `json:"binary_dir,omitempty"`
	// Network limits what may be reached.
	Network Network `json:"-"`

	// CacheDir keeps pages between processes; empty means memory only.
	CacheDir string `json:"-"`
	// Summarizers answer prompts, tried in order.
	Summarizers []Summarizer `json:"-"`
	// Version is sent in the user agent.
	Version string `json:"-"`
	// Progress hears of slow downloads: bytes so far and in all, 0 when unknown.
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

// Network is the part of the configuration called network.
type Network struct {
	// AllowHosts are hosts that may have private addresses.
	AllowHosts []string `json:"allow_hosts,omitempty"`
	// AllowCIDRs are private address ranges that may be reached, such as "10.1.0.0/16".
	AllowCIDRs []string `json:"allow_cidrs,omitempty"`
	// Loopback is "explicit", "never" or "always".
	Loopback Loopback `json:"loopback,omitempty"`
	// RedirectHosts are hosts that redirects from other sites may lead to.
	RedirectHosts []string `json:"redirect_hosts,omitempty"`
	// Proxy is the URL of the proxy; by default HTTP_PROXY, HTTPS_PROXY and NO_PROXY decide.
	Proxy string `json:"proxy,omitempty"`
	// UserAgent replaces whet's own.
	UserAgent string `json:"user_agent,omitempty"`
	// AlternateUserAgent is used for the one retry after a bot challenge.
	AlternateUserAgent string `json:"alternate_user_agent,omitempty"`
	// AcceptLanguage is the header of that name.
	AcceptLanguage string `json:"accept_language,omitempty"`
	// Robots is "off", "warn" or "enforce".
	Robots string `json:"robots,omitempty"`
}

// A Summarizer is a model that answers a prompt about a text.
type Summarizer struct {
	Name      string // as reported: "provider/model"
	Summarize func(ctx context.Context, prompt, text string) (string, error)
}

// A Model names a model as "provider/name", and a variant of it.
type Model struct {
	ID      string `json:"id"`
	Variant string `json:"variant,omitempty"`
}

// Models is one model or several; in JSON a string, an object or a list of them.
type Models []Model

// UnmarshalJSON reads any of the three forms.
func (m *Models) UnmarshalJSON(b []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		list = []json.RawMessage{b}
	}
	*m = nil
	for _, raw := range list {
		var one Model
		if json.Unmarshal(raw, &one.ID) != nil {
			if err := json.Unmarshal(raw, &one); err != nil {
				return fmt.Errorf("webfetch.model: want \"provider/model\" or {\"id\": …}, got %s", raw)
			}
		}
		if p, name, ok := strings.Cut(one.ID, "/"); !ok || p == "" || name == "" {
			return fmt.Errorf("webfetch.model: want \"provider/model\", got %q", one.ID)
		}
		*m = append(*m, one)
	}
	return nil
}

// check finds mistakes in the options.
func (o *Options) check() ([]netip.Prefix, error) {
	var ps []netip.Prefix
	for _, s := range o.Network.AllowCIDRs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, err2 := netip.ParseAddr(s)
			if err2 != nil {
				return nil, fmt.Errorf("network.allow_cidrs: %q is not an address range such as 10.1.0.0/16", s)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		ps = append(ps, p.Masked())
	}
	for _, c := range []struct{ name, got, want string }{
		{"network.loopback", string(o.Network.Loopback), "explicit never always"},
		{"network.robots", o.Network.Robots, "off warn enforce"},
		{"webfetch.llms", o.LLMs, "scoped replace"},
	} {
		if c.got != "" && !strings.Contains(" "+c.want+" ", " "+c.got+" ") {
			return nil, fmt.Errorf("%s: %q is not one of %s", c.name, c.got, strings.ReplaceAll(c.want, " ", ", "))
		}
	}
	return ps, nil
}
