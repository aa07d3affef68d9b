// Package opencode holds the plugin that connects OpenCode to whet, a file of
// JavaScript that `whet install` writes and npm ships.
package opencode

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed whet.js
var source string

// Plugin returns the plugin's text, which starts the program at bin.
func Plugin(bin string) []byte {
	const unset = `const INSTALLED = ""`
	quoted, _ := json.Marshal(bin) // a string always marshals
	return []byte(strings.Replace(source, unset, `const INSTALLED = `+string(quoted), 1))
}
