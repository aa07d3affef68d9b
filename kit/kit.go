// Package kit is the one list of tools, and the settings of everything. With
// the guards of kit/guards it makes the kit that whet's faces serve.
package kit

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/applypatch"
	"github.com/whet-dev/whet/astgrep"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/kit/guards"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/search"
	"github.com/whet-dev/whet/task/client"
	"github.com/whet-dev/whet/webfetch"
)

// Config is all of whet's settings. The zero value is the default.
type Config struct {
	Schema string `json:"$schema,omitempty" doc:"address of the JSON Schema, for editors"`
	Tools  Tools  `json:"tools,omitzero" doc:"which tools whet offers"`
	guards.Config
	Webfetch webfetch.Options `json:"webfetch,omitzero" doc:"fetching of web pages"`
	Network  webfetch.Network `json:"network,omitzero" doc:"what may be reached"`
	Agent    agent.Settings   `json:"agent,omitzero" doc:"whet's own agent: its model and where models are"`
	AstGrep  astgrep.Options  `json:"astgrep,omitzero" doc:"structural search and rewriting"`
}

// Tools says which tools whet offers.
type Tools struct {
	Disabled []string `json:"disabled,omitempty" doc:"tools that are neither listed nor callable, on every face"`
}

// Schema returns the JSON Schema of the configuration file, draft 2020-12.
func Schema() ([]byte, error) {
	return json.MarshalIndent(struct {
		Draft string `json:"$schema"`
		Title string `json:"title"`
		*whet.Schema
	}{"https://json-schema.org/draft/2020-12/schema", "whet.jsonc", whet.SchemaOf[Config]()}, "", "  ")
}

// New returns the kit as configured.
func New(l *config.Loaded[Config], log *slog.Logger) *whet.Kit {
	k := &whet.Kit{Log: log, Guards: guards.New(l.Config.Config, l.Report)}
	if !l.Inert {
		k.Tools = slices.DeleteFunc(tools(l.Config), func(t whet.Tool) bool { return slices.Contains(l.Config.Tools.Disabled, t.Name) })
	}
	return k
}

// tools lists every tool.
func tools(c Config) []whet.Tool {
	return slices.Concat(
		[]whet.Tool{applypatch.Tool(guards.Patching(c.Config))},
		search.Tools(),
		client.Tools(&client.Client{Start: client.Spawn}),
		webfetch.Tools(Fetching(c)),
		[]whet.Tool{market.Tool(Market)},
		astgrep.Tools(c.AstGrep, astgrep.Deps{Locate: search.Locate, Commit: commit}),
	)
}

// commit writes the edits of a rewrite as those of a patch are written, and
// lets the formatter know what the files held: of an edited file it formats
// only what has changed.
func commit(ctx context.Context, c *whet.Call, edits []astgrep.Edit) error {
	w, err := applypatch.Open(c.Session.Dir, c.Session.Roots()...)
	if err != nil {
		return err
	}
	defer w.Close()
	changes := make([]applypatch.Change, len(edits))
	before := map[string][]byte{}
	for i, e := range edits {
		changes[i] = applypatch.Change{Path: e.Path, Old: e.Old, New: e.New}
		before[e.Path] = e.Old
	}
	_ = format.Remember(c, before) // without it the formatter looks at the last commit
	return applypatch.Commit(ctx, w, changes, applypatch.CommitOptions{Journal: applypatch.Journal()})
}
