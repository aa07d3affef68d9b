package config_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/kit"
)

// The table of settings in docs/config.md is the one that the structs make.
func TestConfigPage(t *testing.T) {
	const page, begin, end = "../docs/config.md", "<!-- settings: generated -->\n", "<!-- end of settings -->"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks the markers %q and %q", page, begin, end)
	}
	var table strings.Builder
	table.WriteString("\n| setting | value | meaning |\n|---|---|---|\n")
	settings(&table, "", whet.SchemaOf[kit.Config]())
	want := head + begin + table.String() + "\n" + end + tail
	if os.Getenv("WHET_UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Errorf("%s is stale; run WHET_UPDATE=1 go test ./config\n%s", page, d)
	}
}

func settings(w *strings.Builder, path string, s *whet.Schema) {
	for _, p := range s.Properties {
		at := path + p.Name
		switch {
		case p.Name == "$schema":
		case p.Schema.Properties != nil:
			settings(w, at+".", p.Schema)
			if p.Schema.Values != nil {
				settings(w, at+".NAME.", p.Schema.Values)
			}
		default:
			fmt.Fprintf(w, "| `%s` | %s | %s |\n", at, kind(p.Schema), meaning(p.Schema))
			if p.Schema.Values != nil {
				settings(w, at+".NAME.", p.Schema.Values)
			}
		}
	}
}

func kind(s *whet.Schema) string {
	switch {
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case s.Type == "array":
		return "list of " + kind(s.Items) + "s"
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("%s, %v to %v", s.Type, *s.Minimum, *s.Maximum)
	case s.Values != nil:
		return "object by name"
	}
	return s.Type
}

func meaning(s *whet.Schema) string {
	if s.UserOnly {
		return s.Description + " (yours alone: a project can't set it)"
	}
	if s.Trusted {
		return s.Description + " (from a project's file only after `whet trust`)"
	}
	return s.Description
}
