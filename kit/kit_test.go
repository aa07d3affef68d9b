package kit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/kit"
)

func full() *whet.Kit { return kit.New(&config.Loaded[kit.Config]{}, nil) }

// What every model vendor and every host takes: one tool with an odd schema
// can cost a session all of them.
func TestToolsArePortable(t *testing.T) {
	name := regexp.MustCompile(`^[a-z_]{1,40}$`)
	for _, tool := range full().Tools {
		if !name.MatchString(tool.Name) {
			t.Errorf("%s: the name must match %v", tool.Name, name)
		}
		if n := len(tool.Doc); n == 0 || n > 1024 {
			t.Errorf("%s: the description has %d bytes, not 1 to 1024", tool.Name, n)
		}
		if n := len(tool.Title()); n == 0 || n > 60 {
			t.Errorf("%s: the title has %d bytes, not 1 to 60: %q", tool.Name, n, tool.Title())
		}
		b, err := json.Marshal(tool.Input())
		if err != nil {
			t.Fatal(err)
		}
		var s map[string]any
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		if s["type"] != "object" || s["properties"] == nil || s["enum"] != nil {
			t.Errorf("%s: the schema's top must be an object with properties: %s", tool.Name, b)
		}
		portable(t, tool.Name, s)
	}
}

func portable(t *testing.T, at string, s map[string]any) {
	allowed := map[string]bool{"type": true, "description": true, "properties": true, "required": true, "items": true, "enum": true, "minimum": true, "maximum": true}
	for k := range s {
		if !allowed[k] {
			t.Errorf("%s: keyword %q is not portable", at, k)
		}
	}
	if _, ok := s["type"].(string); !ok {
		t.Errorf("%s: type is %v, not one word", at, s["type"])
	}
	if s["enum"] != nil && s["type"] != "string" {
		t.Errorf("%s: an enum of %v", at, s["type"])
	}
	if props, ok := s["properties"].(map[string]any); ok {
		for k, p := range props {
			sub, ok := p.(map[string]any)
			if !ok {
				t.Errorf("%s.%s: the schema is %v, not an object", at, k, p)
				continue
			}
			if sub["description"] == nil {
				t.Errorf("%s.%s: has no description", at, k)
			}
			portable(t, at+"."+k, sub)
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		portable(t, at+"[]", items)
	}
}

// Each tool belongs to a feature with a page in docs/ and a script end to end.
func TestToolsAreDocumented(t *testing.T) {
	feature := map[string]string{
		"apply_patch":      "applypatch",
		"ast_grep_search":  "astgrep",
		"ast_grep_replace": "astgrep",
		"grep":             "search",
		"glob":             "search",
		"webfetch":         "webfetch",
		"marketplace":      "marketplace",
	}
	for _, tool := range full().Tools {
		f := feature[tool.Name]
		if strings.HasPrefix(tool.Name, "task") || strings.HasPrefix(tool.Name, "wait_for_") {
			f = "tasks"
		}
		if f == "" {
			t.Errorf("%s: say in this test which feature it belongs to", tool.Name)
			continue
		}
		page, err := os.ReadFile(filepath.Join("..", "docs", f+".md"))
		if err != nil || !strings.Contains(string(page), tool.Name) {
			t.Errorf("%s: docs/%s.md doesn't speak of it (%v)", tool.Name, f, err)
		}
		scripts, err := filepath.Glob(filepath.Join("..", "cmd", "whet", "testdata", "script", strings.TrimSuffix(f, "s")+"-*.txtar"))
		if err != nil || len(scripts) == 0 {
			t.Errorf("%s: there is no script %s-*.txtar (%v)", tool.Name, strings.TrimSuffix(f, "s"), err)
		}
	}
}

func TestDisabledToolsAreGone(t *testing.T) {
	tools := full().Tools
	if len(tools) == 0 {
		t.Skip("there are no tools yet")
	}
	l := &config.Loaded[kit.Config]{}
	l.Config.Tools.Disabled = []string{tools[0].Name}
	k := kit.New(l, nil)
	if _, err := k.Tool(tools[0].Name); err == nil || len(k.Tools) != len(tools)-1 {
		t.Errorf("%s is still there", tools[0].Name)
	}
}

func TestInertKitIsEmpty(t *testing.T) {
	if k := kit.New(&config.Loaded[kit.Config]{Report: config.Report{Inert: true}}, nil); len(k.Tools)+len(k.Guards) != 0 {
		t.Errorf("%d tools and %d guards in an inert kit", len(k.Tools), len(k.Guards))
	}
}

// What a client has approved stays what it was: the list is the same bytes
// whenever and wherever it is made.
func TestToolListIsStable(t *testing.T) {
	list := func() string {
		t.Chdir(t.TempDir())
		var out []string
		for _, tool := range full().Tools {
			schema, err := json.Marshal(tool.Input())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, tool.Name, tool.Doc, string(schema))
		}
		return strings.Join(out, "\n")
	}
	first := list()
	for range 20 {
		if list() != first {
			t.Fatal("the list of tools differs from one time to the next")
		}
	}
}
