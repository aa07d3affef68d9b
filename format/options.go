package format

import (
	"encoding/json"
	"maps"
)

// Options of the formatters. The zero value is the default. Other members than
// these are formatters, by name.
type Options struct {
	Enabled   *bool    `json:"enabled,omitempty" doc:"whether edited files are formatted at all; default true"`
	Scope     string   `json:"scope,omitempty" doc:"how much of an edited file: auto (the whole file if it is new or was formatted before, else the edited lines), changed (the edited lines) or file; default auto" enum:"auto,changed,file"`
	TimeoutMs int      `json:"timeoutMs,omitempty" doc:"milliseconds that one file may take; default 10000" min:"100" max:"120000"`
	Ignore    []string `json:"ignore,omitempty" doc:"globs of files that are never formatted, from the project's directory"`
	Prefer    []string `json:"prefer,omitempty" doc:"formatters to take, first to last, where a directory has several configured"`

	Use map[string]Use `json:"-" inline:"true" doc:"one formatter, built in or your own"`
}

// Use changes a built-in formatter or adds one.
type Use struct {
	Disabled    bool              `json:"disabled,omitempty" doc:"never use it"`
	Command     []string          `json:"command,omitempty" doc:"program and arguments; $FILE is the file's path, which the command changes in place" layer:"trusted"`
	Stdin       bool              `json:"stdin,omitempty" doc:"the command reads the text from standard input and prints it formatted"`
	Environment map[string]string `json:"environment,omitempty" doc:"variables that are set for it" layer:"trusted"`
	Extensions  []string          `json:"extensions,omitempty" doc:"endings of the file names that are its, such as .md; they need no other configuration"`
}

// explicit reports whether a person said for which files it is.
func (u Use) explicit() bool { return len(u.Extensions) > 0 }

// UnmarshalJSON sets what is in the JSON: an object, or true or false as a
// short form of enabled. What it doesn't mention stays.
func (o *Options) UnmarshalJSON(b []byte) error {
	var on bool
	if json.Unmarshal(b, &on) == nil {
		o.Enabled = &on
		return nil
	}
	type plain Options
	if err := json.Unmarshal(b, (*plain)(o)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	for _, known := range []string{"enabled", "scope", "timeoutMs", "ignore", "prefer"} {
		delete(members, known)
	}
	use := maps.Clone(o.Use)
	for name, raw := range members {
		u := use[name]
		u.Environment = maps.Clone(u.Environment)
		if err := json.Unmarshal(raw, &u); err != nil {
			return err
		}
		if use == nil {
			use = map[string]Use{}
		}
		use[name] = u
	}
	o.Use = use
	return nil
}

// MarshalJSON writes the formatters beside the other members.
func (o Options) MarshalJSON() ([]byte, error) {
	type plain Options
	b, err := json.Marshal(plain(o))
	if err != nil || len(o.Use) == 0 {
		return b, err
	}
	members := map[string]any{}
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	for name, u := range o.Use {
		members[name] = u
	}
	return json.Marshal(members)
}
