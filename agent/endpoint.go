package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// An Endpoint is a model at its vendor.
type Endpoint struct {
	Provider, Model string
	API             string // "openai" or "anthropic"
	BaseURL         string
	Key, KeyEnv     string        // the secret, and the variable it came from
	Bearer          bool          // anthropic only: the key is an OAuth token
	Idle            time.Duration // longest silence; 0 means DefaultIdle
	Price           *Price        // nil if unknown
}

// A Wish is what a person said about the model. Empty fields are left to the
// settings and the environment.
type Wish struct {
	Model   string // "provider/name"
	BaseURL string // of an endpoint that the settings don't know
}

// ErrNoModel says that nobody has named a model, and how to.
var ErrNoModel = errors.New(`no model is named; give one with --model PROVIDER/NAME, for example
  --model anthropic/NAME                      key in $ANTHROPIC_API_KEY
  --model openai/NAME                         key in $OPENAI_API_KEY
  --model NAME --base-url http://127.0.0.1:11434/v1
                                              any OpenAI-compatible server, a local one needs no key
or set agent.model in your configuration (whet config schema shows it)`)

// Resolve finds the endpoint that the person means. env is [os.Getenv].
//
// The variables are those that the vendors' own clients read:
// ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, OPENAI_API_KEY
// and OPENAI_BASE_URL.
func (s Settings) Resolve(w Wish, env func(string) string) (Endpoint, error) {
	model := cmp.Or(w.Model, s.Model)
	if model == "" {
		return Endpoint{}, ErrNoModel
	}
	providers := s.providers(env)
	name, rest, ok := strings.Cut(model, "/")
	p, known := providers[name]
	switch {
	case ok && known && rest != "":
		model = rest
	case w.BaseURL == "":
		return Endpoint{}, fmt.Errorf("model %q: want PROVIDER/NAME, where PROVIDER is one of %s; or give the server's address with --base-url",
			model, strings.Join(slices.Sorted(maps.Keys(providers)), ", "))
	default: // names of models have slashes too
		name, p = "custom", Provider{KeyEnv: "OPENAI_API_KEY"}
	}
	e := Endpoint{
		Provider: name, Model: model, API: cmp.Or(p.API, "openai"),
		BaseURL: strings.TrimSuffix(cmp.Or(w.BaseURL, p.BaseURL), "/"), KeyEnv: p.KeyEnv,
	}
	if price, ok := p.Prices[model]; ok {
		e.Price = &price
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return e, fmt.Errorf("base URL %q of %s: want an address such as https://host/v1", e.BaseURL, name)
	}
	if p.KeyEnv != "" {
		e.Key = env(p.KeyEnv)
	}
	if e.Key == "" && e.API == "anthropic" && name == "anthropic" {
		e.Key, e.Bearer = env("ANTHROPIC_AUTH_TOKEN"), true
	}
	if e.Key == "" && (strings.HasSuffix(u.Hostname(), ".openai.com") || strings.HasSuffix(u.Hostname(), ".anthropic.com")) {
		return e, fmt.Errorf("%s/%s: no key for %s; set %s", name, model, e.BaseURL, cmp.Or(p.KeyEnv, "keyEnv of the provider in your configuration"))
	}
	return e, nil
}

// providers returns the two that everyone has, and the person's own over them.
func (s Settings) providers(env func(string) string) map[string]Provider {
	all := map[string]Provider{
		"openai":    {API: "openai", BaseURL: cmp.Or(env("OPENAI_BASE_URL"), "https://api.openai.com/v1"), KeyEnv: "OPENAI_API_KEY"},
		"anthropic": {API: "anthropic", BaseURL: cmp.Or(env("ANTHROPIC_BASE_URL"), "https://api.anthropic.com"), KeyEnv: "ANTHROPIC_API_KEY"},
	}
	for name, p := range s.Providers {
		base := all[name]
		p.API, p.BaseURL, p.KeyEnv = cmp.Or(p.API, base.API), cmp.Or(p.BaseURL, base.BaseURL), cmp.Or(p.KeyEnv, base.KeyEnv)
		all[name] = p
	}
	return all
}

// Open returns the model, ready to talk. It doesn't connect.
func (e Endpoint) Open() Model {
	if e.API == "anthropic" {
		return newMessagesModel(e)
	}
	return newChatModel(e)
}

// Name returns "provider/model".
func (e Endpoint) Name() string { return e.Provider + "/" + e.Model }

func (e Endpoint) priced(u Usage) Usage {
	if e.Price != nil {
		cost := e.Price.of(u)
		u.Cost = &cost
	}
	return u
}
