// Package config reads whet's settings: one struct made of the features' own
// options, filled from several layers, later ones over earlier ones. It decides
// nothing; it reads, checks and says where each value came from.
package config

import (
	"encoding/json"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/agent"
	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/loop"
	"github.com/whet-dev/whet/task"
)

// Config is all of whet's settings. The zero value is the default.
type Config struct {
	Schema    string         `json:"$schema,omitempty" doc:"address of the JSON Schema, for editors"`
	Tools     Tools          `json:"tools,omitzero" doc:"which tools whet offers"`
	LoopGuard loop.Options   `json:"loopGuard,omitzero" doc:"the guard against repeated calls"`
	Formatter format.Options `json:"formatter,omitzero" doc:"formatting of edited files"`
	Agent     agent.Settings `json:"agent,omitzero" doc:"whet's own agent: its model and where models are"`
	Task      task.Options   `json:"task,omitzero" doc:"background tasks"`
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
