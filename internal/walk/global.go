package walk

import (
	"os"
	"path/filepath"
	"strings"
)

// globalRules reads the ignore file that git's configuration names, or the one
// at its usual place. Git itself isn't asked: it may be absent, and a hostile
// repository's configuration must not be read.
func globalRules() rules {
	home, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	for _, file := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(config, "git", "config")} {
		if p := excludesFile(string(lookup{}.read(file))); p != "" {
			if rest, ok := strings.CutPrefix(p, "~/"); ok {
				p = filepath.Join(home, rest)
			}
			return lookup{}.rules(p)
		}
	}
	return lookup{}.rules(filepath.Join(config, "git", "ignore"))
}

// excludesFile finds core.excludesFile in the text of a git configuration.
func excludesFile(text string) string {
	core := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			core = strings.EqualFold(line, "[core]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if core && ok && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}
