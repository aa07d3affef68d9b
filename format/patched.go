package format

import (
	"encoding/json"
	"strings"
)

// patched lists the files that a patch in the arguments names: the name a text
// has now, and the one it will have.
func patched(args json.RawMessage) map[string]string {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil {
		return nil
	}
	files := map[string]string{}
	for _, raw := range m {
		var text string
		if json.Unmarshal(raw, &text) != nil || !strings.Contains(text, "*** ") {
			continue
		}
		current := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			for _, header := range []string{"*** Add File:", "*** Update File:"} {
				if name, ok := strings.CutPrefix(line, header); ok {
					current = strings.TrimSpace(name)
					files[current] = current
				}
			}
			if name, ok := strings.CutPrefix(line, "*** Move to:"); ok && current != "" {
				files[current] = strings.TrimSpace(name)
			}
		}
	}
	return files
}
