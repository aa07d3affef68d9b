package plugin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/market/plugin"
	"github.com/whet-dev/whet/market/tree"
)

// archive makes a tree of name and content pairs; a name that ends in * has the
// exec bit.
func archive(pairs ...string) tree.Tree {
	var files []tree.File
	for i := 0; i < len(pairs); i += 2 {
		name, exec := strings.CutSuffix(pairs[i], "*")
		files = append(files, tree.File{Name: name, Exec: exec, Data: []byte(pairs[i+1])})
	}
	return tree.New(files)
}

const (
	schema    = `"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"`
	mcpSchema = `"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"`
	minimal   = `{` + schema + `,"name":"x"}`
)

func codes(notes []plugin.Note) (out []string) {
	for _, n := range notes {
		out = append(out, n.Code+" "+n.File)
	}
	return out
}

func TestManifest(t *testing.T) {
	long := strings.Repeat("n", 65)
	for _, tt := range []struct{ name, manifest, err string }{
		{"minimal", minimal, ""},
		{"later version", `{"$schema":"https://agent-plugins.org/schemas/1.1.0/plugin.schema.json","name":"x","displayName":"X","icon":"./i.png"}`, ""},
		{"no JSON", "{\n  \"name\": \n}", "plugin.json:3: it isn't JSON: invalid character '}' looking for beginning of value"},
		{"comment", "{\n// c\n}", "plugin.json:2: it isn't JSON: invalid character '/' looking for beginning of object key string"},
		{"array", "[]", "plugin.json:1: want an object"},
		{"no schema", `{"name":"x"}`, `plugin.json:1: $schema is missing; want "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"`},
		{"other schema", "{\n\"$schema\":\"https://example.com/x\",\"name\":\"x\"}", `plugin.json:2: /$schema: "https://example.com/x" is none of the schemas that are known; want "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"`},
		{"no name", `{` + schema + `}`, "plugin.json:1: name is missing"},
		{"name's type", "{" + schema + ",\n\n\"name\":1}", "plugin.json:3: /name: want a string"},
		{"upper case", `{` + schema + `,"name":"My-Plugin"}`, nameErr("My-Plugin")},
		{"leading hyphen", `{` + schema + `,"name":"-start"}`, nameErr("-start")},
		{"two hyphens", `{` + schema + `,"name":"has--double"}`, nameErr("has--double")},
		{"two dots", `{` + schema + `,"name":"too.many..dots"}`, nameErr("too.many..dots")},
		{"empty", `{` + schema + `,"name":""}`, nameErr("")},
		{"long", `{` + schema + `,"name":"` + long + `"}`, nameErr(long)},
		{"dot", `{` + schema + `,"name":"acme.tools"}`, ""},
		{"one letter", `{` + schema + `,"name":"a"}`, ""},
		{"version's type", `{` + schema + `,"name":"x","version":1}`, "plugin.json:1: /version: want a string"},
		{"version that is none", `{` + schema + `,"name":"x","version":"latest"}`, ""},
		{"author's type", `{` + schema + `,"name":"x","author":"Me"}`, "plugin.json:1: /author: want an object"},
		{"author's member", `{` + schema + `,"name":"x","author":{"name":"Me","github":"me"}}`, "plugin.json:1: /author/github: an author has only a name, email and url"},
		{"keywords", `{` + schema + `,"name":"x","keywords":["a",1]}`, "plugin.json:1: /keywords/1: want a string"},
		{"icon of a later version", `{` + schema + `,"name":"x","icon":1}`, ""}, // unknown here, so ignored
		{"extensions", `{` + schema + `,"name":"x","extensions":[]}`, ""},       // reported and ignored
		{"another's extension", `{` + schema + `,"name":"x","extensions":{"com.example":{"id":1}}}`, ""},
		{"own extension", `{` + schema + `,"name":"x","extensions":{"dev.whet":1}}`, "plugin.json:1: /extensions/dev.whet: want an object"},
		{"own schema", `{` + schema + `,"name":"x","extensions":{"dev.whet":{"schema":2}}}`, "plugin.json:1: /extensions/dev.whet/schema: it is of a newer whet; want 1"},
		{"id", `{` + schema + `,"name":"x","extensions":{"dev.whet":{"id":"../x"}}}`, `plugin.json:1: /extensions/dev.whet/id: want publisher/name, each up to 64 of a-z, 0-9, ., - and _, not "../x"`},
		{"requirement", `{` + schema + `,"name":"x","extensions":{"dev.whet":{"requires":{"mcp":"a"}}}}`, "plugin.json:1: /extensions/dev.whet/requires/mcp: want a list of strings"},
		{"requirements", `{` + schema + `,"name":"x","extensions":{"dev.whet":{"requires":{"mcp":[` + strings.Repeat(`"a",`, 128) + `"a"]}}}}`, "plugin.json:1: /extensions/dev.whet/requires/mcp: more than 128 names"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plugin.Parse(archive("plugin.json", tt.manifest))
			got := ""
			if err != nil {
				got = err.Error()
				if e := (*plugin.Error)(nil); !errors.As(err, &e) {
					t.Errorf("%T", err)
				}
			}
			if d := cmp.Diff(tt.err, got); d != "" {
				t.Error(d)
			}
			if (p == nil) != (err != nil) {
				t.Error("a package and an error, or neither")
			}
		})
	}
	if _, err := plugin.Parse(archive("x", "y")); err == nil || err.Error() != "plugin.json: it isn't there; a package has it at its top" {
		t.Error(err)
	}
}

func nameErr(name string) string {
	return fmt.Sprintf("plugin.json:1: /name: want up to 64 of a-z, 0-9, - and ., beginning and ending with a letter or digit, without -- and .., not %q", name)
}

func TestVersion(t *testing.T) {
	for version, exact := range map[string]bool{
		"1.2.3": true, "0.0.0": true, "1.0.0-rc.1+build.5": true, "1.0.0-0a": true,
		"": false, "1.2": false, "v1.2.3": false, "01.2.3": false, "1.2.3-01": false, "1.2.3 ": false, "latest": false,
	} {
		manifest := `{` + schema + `,"name":"x","version":"` + version + `"}`
		tr := archive("plugin.json", manifest)
		p, err := plugin.Parse(tr)
		if err != nil {
			t.Fatal(err)
		}
		want := version
		if !exact {
			want = "0.0.0+" + tr.Digest()[len("sha256:"):][:12]
		}
		if p.Versioned != exact || p.Version != want || (len(p.Notes) > 0) != (!exact && version != "") {
			t.Errorf("%q: %q %v %v", version, p.Version, p.Versioned, p.Notes)
		}
	}
	// Without a version another content is another version.
	a, _ := plugin.Parse(archive("plugin.json", minimal, "a.md", "1"))
	b, _ := plugin.Parse(archive("plugin.json", minimal, "a.md", "2"))
	if a.Version == b.Version {
		t.Error(a.Version)
	}
}

func TestParse(t *testing.T) {
	p, err := plugin.Parse(archive(
		"plugin.json", `{`+schema+`,"name":"reviewer","version":"1.2.0","description":"Reviews\n  code","license":"MIT","homepage":"https://acme.example",
			"author":{"name":"Acme","email":"a@acme.example"},"more":1,"extensions":{"dev.whet":{"schema":1,"id":" Acme/Reviewer ","title":"The Reviewer","later":1,
			"requires":{"whet":">=0.1 <1","skills":["git"],"mcp":["context7"],"tools":["webfetch"]},"optional":{"skills":["s"]},
			"userConfig":{"API_KEY":{"title":"Key","sensitive":true,"required":true,"env":"ACME_API_KEY"},"bad name":{},"kind":{"type":"list"},"env":{"env":"A B"}},
			"agents":{"reviewer":{"extends":"explorer","routing":{"lane":"reviews","delegateWhen":["a"],"avoid":["b"]}},"ghost":{}}}}}`,
		"skills/review/SKILL.md", "---\nname: review\ndescription: >\n  Use when\n  reviewing.\nmetadata:\n  a: b\n---\n\n# Body\n",
		"skills/review/scripts/run.py*", "print()",
		"skills/bad/SKILL.md", "---\nname: other\ndescription: d\n---\nx",
		"skills/deep/er/SKILL.md", "---\nname: er\ndescription: d\n---\nx",
		"dev.whet/agents/reviewer.md", "---\ndescription: Reviews\ntools: [read]\n---\nYou review.\n",
		"dev.whet/agents/Bad.md", "---\ndescription: d\n---\nx",
		"dev.whet/agents/mute.md", "no front matter",
		"dev.whet/commands/git/fix.md", "---\ndescription: Fix it\nargument-hint: \"[pr]\"\nagent: reviewer\n---\r\nFix $ARGUMENTS\r\n",
		"dev.whet/instructions/style.md", "Be brief.\n",
		"dev.whet/instructions/empty.md", "---\na: b\n---\n\n",
		"dev.whet/opencode/plugins/p.ts", "export {}",
		"dev.whet/formatters.json", `{"mine":{"command":["fmt","$FILE"],"extensions":[".x"]},"bad":{"command":"fmt"}}`,
		"dev.whet/original/bin/x", "old",
	))
	if err != nil {
		t.Fatal(err)
	}
	want := &plugin.Plugin{
		ID: "acme/reviewer", Version: "1.2.0", Versioned: true, Name: "reviewer", Title: "The Reviewer", Description: "Reviews code",
		Author: "Acme <a@acme.example>", License: "MIT", Homepage: "https://acme.example",
		Agents: []plugin.Agent{{
			Text: plugin.Text{Name: "reviewer", File: "dev.whet/agents/reviewer.md", Body: "You review."}, Description: "Reviews",
			Extends: "explorer", Lane: "reviews", When: []string{"a"}, Avoid: []string{"b"},
		}},
		Skills:       []plugin.Skill{{Text: plugin.Text{Name: "review", File: "skills/review/SKILL.md", Body: "# Body"}, Description: "Use when reviewing."}},
		Commands:     []plugin.Command{{Text: plugin.Text{Name: "git:fix", File: "dev.whet/commands/git/fix.md", Body: "Fix $ARGUMENTS"}, Description: "Fix it", Hint: "[pr]", Agent: "reviewer"}},
		Instructions: []plugin.Text{{Name: "style", File: "dev.whet/instructions/style.md", Body: "Be brief."}},
		Formatters:   []plugin.Formatter{{Name: "mine", Value: []byte(`{"command":["fmt","$FILE"],"extensions":[".x"]}`)}},
		Requires:     plugin.Requires{Whet: ">=0.1 <1", Skills: []string{"git"}, MCP: []string{"context7"}, Tools: []string{"webfetch"}},
		Optional:     plugin.Requires{Skills: []string{"s"}},
		Settings:     []plugin.Setting{{Name: "API_KEY", Title: "Key", Type: "string", Sensitive: true, Required: true, Env: "ACME_API_KEY"}},
		Scripts:      []string{"skills/review/scripts/run.py"},
		Modules:      []string{"dev.whet/opencode/plugins/p.ts"},
	}
	notes := p.Notes
	p.Notes = nil
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"unknown-field plugin.json",
		"unknown-field plugin.json",
		"invalid-setting plugin.json",
		"invalid-setting plugin.json",
		"invalid-setting plugin.json",
		"invalid-skill skills/bad/SKILL.md",
		"invalid-agent dev.whet/agents/Bad.md",
		"invalid-agent dev.whet/agents/mute.md",
		"invalid-instruction dev.whet/instructions/empty.md",
		"unknown-agent plugin.json",
		"invalid-formatter dev.whet/formatters.json",
	}, codes(notes)); d != "" {
		t.Error(d)
	}
}

func TestSkills(t *testing.T) {
	long := strings.Repeat("d", 1025)
	for _, tt := range []struct{ name, dir, text, err string }{
		{"plain", "a-b", "---\nname: a-b\ndescription: d\n---\nx", ""},
		{"all fields", "a", "---\nname: a\ndescription: d\nlicense: MIT\ncompatibility: any\nallowed-tools: Read Grep\nmetadata:\n  k: v\n---\nx", ""},
		{"line endings and mark", "a", "\ufeff---\r\nname: a\r\ndescription: d\r\n---\r\nx", ""},
		{"no front matter", "a", "# a", "it doesn't begin with front matter between two lines of ---"},
		{"open", "a", "---\nname: a\n", "it doesn't begin with front matter between two lines of ---"},
		{"not YAML", "a", "---\nname: a\ndescription: use: it\n---\nx", "its front matter isn't valid YAML"},
		{"other name", "a", "---\nname: b\ndescription: d\n---\nx", `name: it is "b", and its directory "a"; they must be the same`},
		{"upper case", "A", "---\nname: A\ndescription: d\n---\nx", `name: want up to 64 of a-z, 0-9 and single hyphens between them, not "A"`},
		{"two hyphens", "a--b", "---\nname: a--b\ndescription: d\n---\nx", `name: want up to 64 of a-z, 0-9 and single hyphens between them, not "a--b"`},
		{"no description", "a", "---\nname: a\n---\nx", "description: want 1 to 1024 characters"},
		{"long description", "a", "---\nname: a\ndescription: " + long + "\n---\nx", "description: want 1 to 1024 characters"},
		{"another field", "a", "---\nname: a\ndescription: d\nversion: 1\n---\nx", "version: the format has no such field; put it under metadata"},
		{"list of tools", "a", "---\nname: a\ndescription: d\nallowed-tools: [Read]\n---\nx", "allowed-tools: want a string"},
		{"number in metadata", "a", "---\nname: a\ndescription: d\nmetadata:\n  v: 1\n---\nx", "metadata: want names with strings"},
		{"not UTF-8", "a", "---\nname: a\ndescription: \xff\n---\nx", "it is not UTF-8"},
		{"aliases", "a", "---\nname: a\ndescription: &d x\nlicense: *d\n---\nx", "its front matter isn't valid YAML"},
		{"long body", "a", "---\nname: a\ndescription: d\n---\n" + strings.Repeat("é", plugin.MaxPrompt+1), "it has more than 100000 characters"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := plugin.ReadSkill(tt.dir, []byte(tt.text))
			got := ""
			if err != nil {
				got = err.Error()
			} else if s.Name != tt.dir || s.Description != "d" || s.Body != "x" {
				t.Errorf("%+v", s)
			}
			if got != tt.err {
				t.Errorf("%q, want %q", got, tt.err)
			}
		})
	}
}

// Front matter as published agents have it.
func TestFront(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		head       map[string]any
		body       string
		loose      bool
	}{
		{"none", "# Title\n", nil, "# Title\n", false},
		{"only a rule", "---\nno end", nil, "---\nno end", false},
		{"YAML", "---\na: 1\nb: [x, y]\n---\nbody\n", map[string]any{"a": uint64(1), "b": []any{"x", "y"}}, "body\n", false},
		{"empty", "---\n---\nbody", map[string]any{}, "body", false},
		{"rule in the body", "---\na: b\n---\n\n---\nrest", map[string]any{"a": "b"}, "\n---\nrest", false},
		{
			"unquoted colon", "---\nname: reviewer\ndescription: Use this: when asked. Examples: user: \"hi\"\ntools: Read, Grep\n---\nbody",
			map[string]any{"name": "reviewer", "description": `Use this: when asked. Examples: user: "hi"`, "tools": "Read, Grep"},
			"body", true,
		},
		{
			"continued", "---\nname: \"x\"\ndescription: first: line\n  second line\ntools:\n  - Read\n  - 'Grep'\nlong: |\n  text: here\n---\nbody",
			map[string]any{"name": "x", "description": "first: line\nsecond line", "tools": []any{"Read", "Grep"}, "long": "text: here"},
			"body", true,
		},
		{"nesting", "---\na: " + strings.Repeat("[", 301) + "\n---\n", map[string]any{"a": strings.Repeat("[", 301)}, "", true},
		{"nesting without brackets", "---\n" + strings.Repeat("- ", 5000) + "a\n---\n", map[string]any{}, "", true},
		{"tab", "---\na:\tb: c\n---\n", map[string]any{"a": "b: c"}, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head, body, loose := plugin.Front(tt.text)
			if d := cmp.Diff(tt.head, head); d != "" || body != tt.body || loose != tt.loose {
				t.Errorf("%s%q %v", d, body, loose)
			}
		})
	}
}
