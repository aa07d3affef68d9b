package config_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/kit"
)

// guarded lists the settings that only the user can make, or only once the
// project is trusted: the path of each, and a value for it.
func guarded(s *whet.Schema, path []string, inherited bool) (out map[string]any) {
	out = map[string]any{}
	own := inherited || s.UserOnly || s.Trusted
	add := func(name string, s *whet.Schema) {
		for p, v := range guarded(s, append(path[:len(path):len(path)], name), own) {
			out[p] = v
		}
	}
	switch {
	case s.Type == "object" && s.Values != nil:
		add("n", s.Values)
		for _, p := range s.Properties {
			add(p.Name, p.Schema)
		}
	case s.Type == "object":
		for _, p := range s.Properties {
			add(p.Name, p.Schema)
		}
	case own:
		out[strings.Join(path, ".")] = sample(s)
	}
	return out
}

func sample(s *whet.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[len(s.Enum)-1]
	case s.Type == "boolean":
		return true
	case s.Type == "array":
		return []string{"x"}
	case s.Type == "integer" || s.Type == "number":
		if s.Minimum != nil && *s.Minimum > 1 {
			return *s.Minimum
		}
		return 1
	}
	return "x"
}

// A repository must not choose what runs or where secrets go: what is marked for
// the user alone, or for trusted projects, has no effect in a project's file, and
// has one in the user's.
func TestProjectCantSetWhatIsTheUsers(t *testing.T) {
	settings := guarded(whet.SchemaOf[kit.Config](), nil, false)
	if len(settings) < 20 {
		t.Fatalf("%d settings are guarded", len(settings))
	}
	load := func(user, project string) *config.Loaded[kit.Config] {
		dir := tree(t, map[string]string{"home/.config/whet/whet.jsonc": user, "w/.whet/whet.jsonc": project})
		return config.Load[kit.Config](filepath.Join(dir, "w"), filepath.Join(dir, "w"), []string{"HOME=" + filepath.Join(dir, "home")})
	}
	for path, value := range settings {
		keys := strings.Split(path, ".")
		for i := len(keys) - 1; i >= 0; i-- {
			value = map[string]any{keys[i]: value}
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		l := load("{}", string(text))
		if l.Origins[path] != (config.Origin{}) || len(l.Problems) == 0 {
			t.Errorf("a project's file sets %s; problems: %v", text, l.Problems)
		}
		if l := load(string(text), "{}"); l.Origins[path] == (config.Origin{}) {
			t.Errorf("the user's own file doesn't set %s: %v %v", text, l.Problems, l.Origins)
		}
	}
}
