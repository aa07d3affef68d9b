package packages

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

// An environ is what programs of a package are started with.
type environ struct {
	p       market.Package
	project string
	of      []string // as of os.Environ
}

var secret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE`)
})

// list is our own environment without what looks like a secret by its name,
// unless it is a setting of the package: a person trusted its programs, and not
// with every key of theirs. The names beside PLUGIN_ and those of the project
// are what scripts written for Claude Code look for.
func (e environ) list() (out []string) {
	for _, kv := range e.of {
		name, _, _ := strings.Cut(kv, "=")
		if !secret().MatchString(name) || slices.Contains(e.settings(), name) {
			out = append(out, kv)
		}
	}
	return append(out,
		"PLUGIN_ROOT="+e.p.Root, "PLUGIN_DATA="+e.p.Data,
		"CLAUDE_PLUGIN_ROOT="+e.p.Root, "CLAUDE_PLUGIN_DATA="+e.p.Data, "CLAUDE_PROJECT_DIR="+e.project)
}

// settings are the environment variables that hold the package's settings.
func (e environ) settings() (names []string) {
	for _, s := range e.p.Plugin.Settings {
		names = append(names, holder(s))
	}
	return names
}

// holder is the environment variable that a setting is taken from: the one that
// the package names, or the setting's name in capitals.
func holder(s plugin.Setting) string {
	return cmp.Or(s.Env, strings.ToUpper(notInVariable().ReplaceAllString(s.Name, "_")))
}

var notInVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_]+`) })

// value is what a person or else the package set.
func (e environ) value(s plugin.Setting) string { return cmp.Or(e.get(holder(s)), s.Default) }

func (e environ) get(name string) string {
	for _, kv := range slices.Backward(e.of) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// ready makes the package's own directory, and says which setting is missing.
func (e environ) ready() error {
	for _, s := range e.p.Plugin.Settings {
		if s.Required && e.value(s) == "" {
			return fmt.Errorf("it needs a value for %s; set the environment variable %s", cmp.Or(s.Title, s.Name), holder(s))
		}
	}
	return os.MkdirAll(e.p.Data, 0o700)
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(PLUGIN_ROOT|PLUGIN_DATA|user_config\.[A-Za-z0-9_.-]+)\}`)
})

// expand replaces the placeholders of a package's configuration. What is put in
// is not looked at again.
func (e environ) expand(s string) (string, error) {
	var err error
	out := variable().ReplaceAllStringFunc(s, func(m string) string {
		switch name := m[2 : len(m)-1]; name {
		case "PLUGIN_ROOT":
			return e.p.Root
		case "PLUGIN_DATA":
			return e.p.Data
		default:
			name = strings.TrimPrefix(name, "user_config.")
			for _, s := range e.p.Plugin.Settings {
				if s.Name == name {
					return e.value(s)
				}
			}
			err = fmt.Errorf("%s: the package has no such setting", m)
			return ""
		}
	})
	return out, err
}

// program is the path of a command: ./x is the package's own.
func (e environ) program(command string) string {
	if rest, ok := strings.CutPrefix(command, "./"); ok {
		return filepath.Join(e.p.Root, filepath.FromSlash(rest))
	}
	return command
}
