package format

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/whet-dev/whet/internal/plainfile"
)

// maxOpenCode is more than any configuration of OpenCode's has.
const maxOpenCode = 256 << 10

// openCodeFormats reports whether OpenCode formats by itself in a project: its
// setting "formatter" is true or an object. dirs go from the project's
// directory outwards. What can't be read says nothing.
func openCodeFormats(dirs []string, getenv func(string) string) (on bool) {
	take := func(text []byte) {
		std, err := hujson.Standardize(text)
		if err != nil {
			return
		}
		var c struct {
			Formatter json.RawMessage `json:"formatter"`
		}
		if json.Unmarshal(std, &c) == nil && c.Formatter != nil {
			on = string(c.Formatter) != "false" && string(c.Formatter) != "null"
		}
	}
	file := func(path string) {
		// The parser recurses without a limit: a repository's file of nothing but
		// brackets would end the process.
		if b, err := plainfile.Read(path, maxOpenCode); err == nil {
			take(b)
		}
	}
	names := func(dir string) {
		for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
			file(filepath.Join(dir, name))
		}
	}
	if dir := cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(getenv("HOME"), ".config")); filepath.IsAbs(dir) {
		names(filepath.Join(dir, "opencode"))
	}
	if path := getenv("OPENCODE_CONFIG"); path != "" {
		file(path)
	}
	for _, d := range slices.Backward(dirs) {
		file(filepath.Join(d, "opencode.json"))
		file(filepath.Join(d, "opencode.jsonc"))
	}
	for _, d := range slices.Backward(dirs) {
		names(filepath.Join(d, ".opencode"))
	}
	if dir := getenv("OPENCODE_CONFIG_DIR"); dir != "" {
		names(dir)
	}
	if text := getenv("OPENCODE_CONFIG_CONTENT"); text != "" {
		take([]byte(text))
	}
	return on
}
