package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/whet-dev/whet/config"
	"github.com/whet-dev/whet/kit"
)

// tree makes files below a new directory and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func content(text string) []string { return []string{"WHET_CONFIG_CONTENT=" + text} }

func problems(l *config.Loaded[kit.Config], dir string) []string {
	var out []string
	for _, p := range l.Problems {
		out = append(out, strings.ReplaceAll(p.String(), dir, "DIR"))
	}
	return out
}

func TestLayers(t *testing.T) {
	dir := tree(t, map[string]string{
		"home/.config/whet/whet.jsonc":  `{"loopGuard": {"warnAt": 10, "refuseAt": 11, "exempt": ["a"]}} // user`,
		"w/.whet/whet.json":             `{"loopGuard": {"warnAt": 20, "refuseAt": 21}}`,
		"w/p/q/.whet/whet.jsonc":        "\ufeff{\"loopGuard\": {\"refuseAt\": 31},\r\n /* tail */ }",
		"extra.jsonc":                   `{"loopGuard": {"refuseTools": ["x"],},}`,
		"elsewhere/whet.jsonc":          `{"loopGuard": {"warnAt": 90}}`,
		"home/.config/whet/whet.json":   `{"loopGuard": {"warnAt": 99}}`,
		"w/p/q/r/.whet/unrelated.jsonc": `{`,
		"w/.whet/sub/.whet/whet.jsonc":  `{`,
		"outside/.whet/whet.jsonc":      `{"loopGuard": {"warnAt": 80}}`,
		"xdg/whet/whet.jsonc":           `{"loopGuard": {"warnAt": 70}}`,
		"w/p/q/.whet/whet.schema.json":  `{`,
		"w/p/.whet/not-whet.jsonc":      `{`,
		"w/p/q/r/s/.whet/whet.jsonc":    `{"loopGuard": {"warnAt": 60}}`,
	})
	home := "HOME=" + filepath.Join(dir, "home")
	type want struct {
		warn, refuse int
		exempt, refs []string
	}
	for _, c := range []struct {
		name, dir, worktree string
		env                 []string
		want                want
	}{
		{"user alone", "", "", []string{home}, want{10, 11, []string{"a"}, nil}},
		{"project over user, nearest last", "w/p/q/r", "w", []string{home}, want{20, 31, []string{"a"}, nil}},
		{"dir outside the worktree stands alone", "outside", "w", []string{home}, want{80, 11, []string{"a"}, nil}},
		{"no project", "w/p/q/r", "w", []string{home, "WHET_NO_PROJECT_CONFIG=1"}, want{10, 11, []string{"a"}, nil}},
		{"a named file", "w/p/q/r", "w", []string{home, "WHET_CONFIG=" + filepath.Join(dir, "extra.jsonc")}, want{20, 31, []string{"a"}, []string{"x"}}},
		{"text in the environment", "w", "w", append(content(`{"loopGuard":{"exempt":[]}}`), home), want{20, 21, []string{}, nil}},
		{"variables", "w", "w", []string{home, "WHET_LOOPGUARD__WARNAT=5", `WHET_LOOPGUARD__EXEMPT=["b","c"]`}, want{5, 21, []string{"b", "c"}, nil}},
		{"XDG", "", "", []string{home, "XDG_CONFIG_HOME=" + filepath.Join(dir, "xdg")}, want{70, 0, nil, nil}},
		{"moved user file", "", "", []string{home, "WHET_CONFIG_DIR=" + filepath.Join(dir, "elsewhere")}, want{90, 0, nil, nil}},
		{"no home at all", "", "", nil, want{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			abs := func(p string) string {
				if p == "" {
					return ""
				}
				return filepath.Join(dir, p)
			}
			l := config.Load[kit.Config](abs(c.dir), abs(c.worktree), c.env)
			g := l.Config.LoopGuard
			if d := cmp.Diff(c.want, want{g.WarnAt, g.RefuseAt, g.Exempt, g.RefuseTools}, cmp.AllowUnexported(want{})); d != "" {
				t.Errorf("(-want +got)\n%s\nproblems: %q", d, problems(l, dir))
			}
		})
	}
}

func TestOneBadValueCostsOnlyItself(t *testing.T) {
	for _, c := range []struct {
		name, text string
		problems   []string
		warn       int // of loopGuard.warnAt; the lower layer says 7
	}{
		{"too large", "{\n  \"loopGuard\": {\"warnAt\": 500, \"refuseAt\": 9}}", []string{"FILE:2:27: loopGuard.warnAt: 500 is more than the maximum 100"}, 7},
		{"too small", `{"loopGuard": {"warnAt": 1, "refuseAt": 9}}`, []string{"FILE:1:26: loopGuard.warnAt: 1 is less than the minimum 2"}, 7},
		{"wrong type", `{"loopGuard": {"warnAt": "many", "refuseAt": 9}}`, []string{`FILE:1:26: loopGuard.warnAt: want a whole number, got "many"`}, 7},
		{"not whole", `{"loopGuard": {"warnAt": 4.5, "refuseAt": 9}}`, []string{`FILE:1:26: loopGuard.warnAt: want a whole number, got 4.5`}, 7},
		{"unknown key", `{"loopguard": {"warnAt": 4}, "loopGuard": {"refuseAt": 9}}`, []string{`FILE:1:2: unknown key "loopguard" - did you mean "loopGuard"? (ignored)`}, 7},
		{"problems in the order of the file", "{\"zzzzzz\": 1,\n \"yyyyyy\": 2, \"xxxxxx\": 3, \"loopGuard\": {\"refuseAt\": 9}}", []string{`FILE:1:2: unknown key "zzzzzz" (ignored)`, `FILE:2:2: unknown key "yyyyyy" (ignored)`, `FILE:2:15: unknown key "xxxxxx" (ignored)`}, 7},
		{"unknown key, nothing like it", `{"zzzzzz": 1, "loopGuard": {"refuseAt": 9}}`, []string{`FILE:1:2: unknown key "zzzzzz" (ignored)`}, 7},
		{"text for a list", `{"loopGuard": {"exempt": "read", "warnAt": 4, "refuseAt": 9}}`, []string{`FILE:1:26: loopGuard.exempt: want a list, took "read" as the only element`}, 4},
		{"bad element", `{"loopGuard": {"exempt": ["read", {}], "warnAt": 4, "refuseAt": 9}}`, []string{`FILE:1:35: loopGuard.exempt[1]: want a text, got an object`}, 4},
		{"list for an object", `{"tools": [], "loopGuard": {"warnAt": 4, "refuseAt": 9}}`, []string{`FILE:1:11: tools: want an object, got a list`}, 4},
		{"set twice", `{"loopGuard": {"warnAt": 5, "warnAt": 4, "refuseAt": 9}}`, []string{`FILE:1:16: loopGuard.warnAt is set twice here; the last one counts`}, 4},
		{"null", `{"loopGuard": {"warnAt": null, "refuseAt": 9}}`, []string{`FILE:1:26: loopGuard.warnAt: want a whole number, got null`}, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"whet.jsonc": `{"loopGuard": {"warnAt": 7}}`, "f.jsonc": c.text})
			l := config.Load[kit.Config]("", "", []string{"WHET_CONFIG_DIR=" + dir, "WHET_CONFIG=" + dir + "/f.jsonc"})
			got := problems(l, dir)
			for i := range got {
				got[i] = strings.Replace(got[i], filepath.FromSlash("DIR/f.jsonc"), "FILE", 1)
			}
			if d := cmp.Diff(c.problems, got); d != "" {
				t.Errorf("problems (-want +got)\n%s", d)
			}
			if g := l.Config.LoopGuard; g.WarnAt != c.warn || g.RefuseAt != 9 {
				t.Errorf("warnAt %d, refuseAt %d; want %d, 9", g.WarnAt, g.RefuseAt, c.warn)
			}
		})
	}
}

func TestLostFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		"syntax/whet.jsonc":    "{\n  \"loopGuard\": {\n}",
		"big/whet.jsonc":       `{"$schema":"` + strings.Repeat("x", 300<<10) + `"}`,
		"list/whet.jsonc":      `[1]`,
		"dir/whet.jsonc/x":     "",
		"empty/whet.jsonc":     " \n",
		"deep/whet.jsonc":      strings.Repeat("[", 100_000),
		"both/whet.jsonc":      `{}`,
		"both/whet.json":       `{}`,
		"not-object/whet.json": `{"loopGuard": 3}`,
	})
	for _, c := range []struct {
		name, want string
		syntax     bool
	}{
		{"syntax", "DIR/syntax/whet.jsonc:4:1: syntax error, the file is left out: parsing object after value: the file ends in the middle of it", true},
		{"big", "DIR/big/whet.jsonc: larger than 256 KiB", true},
		{"list", "DIR/list/whet.jsonc:1:1: want an object, got a list", false},
		{"dir", "DIR/dir/whet.jsonc: not a regular file", true},
		{"empty", "", false},
		{"deep", "DIR/deep/whet.jsonc:2:1: syntax error, the file is left out: parsing value: the file ends in the middle of it", true},
		{"both", "DIR/both/whet.json: left out, because whet.jsonc stands beside it", false},
		{"not-object", "DIR/not-object/whet.json:1:15: loopGuard: want an object, got 3", false},
	} {
		l := config.Load[kit.Config]("", "", []string{"WHET_CONFIG_DIR=" + filepath.Join(dir, c.name)})
		got := filepath.ToSlash(strings.Join(problems(l, dir), "\n"))
		if got != c.want || (len(l.Problems) > 0 && l.Problems[0].Syntax != c.syntax) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
	l := config.Load[kit.Config]("", "", []string{"WHET_CONFIG=" + dir + "/none.jsonc"})
	if len(l.Problems) != 1 || !strings.Contains(l.Problems[0].String(), "no such file") {
		t.Errorf("a named file that isn't there: %q", l.Problems)
	}
}

func TestVariables(t *testing.T) {
	l := config.Load[kit.Config]("", "", []string{
		"WHET_LOOPGUARD__ENABLED=false", "WHET_TOOLS__DISABLED=grep", "WHET_LOOPGUARD__WARNAT=many",
		"WHET_LOOPGUARD__NOSUCH=1", "WHET_STATE=/x", `WHET_FORMATTER__ENABLED={"a":`,
	})
	want := []string{
		`WHET_FORMATTER__ENABLED: formatter.enabled: want true or false, got "{\"a\":"`,
		"WHET_LOOPGUARD__NOSUCH: no such setting",
		`WHET_LOOPGUARD__WARNAT: loopGuard.warnAt: want a whole number, got "many"`,
		`WHET_TOOLS__DISABLED: tools.disabled: want a list, took "grep" as the only element`,
	}
	if d := cmp.Diff(want, problems(l, "-")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if e := l.Config.LoopGuard.Enabled; e == nil || *e {
		t.Error("loopGuard.enabled is not false")
	}
	if d := cmp.Diff([]string{"grep"}, l.Config.Tools.Disabled); d != "" {
		t.Error(d)
	}
}

func TestInert(t *testing.T) {
	for _, v := range []string{"1", "true", "YES", "on"} {
		if !config.Load[kit.Config]("", "", []string{"WHET_DISABLE=" + v}).Inert {
			t.Errorf("WHET_DISABLE=%s has no effect", v)
		}
	}
	if config.Load[kit.Config]("", "", []string{"WHET_DISABLE=0"}).Inert {
		t.Error("WHET_DISABLE=0 disables")
	}
}

func TestOrigins(t *testing.T) {
	dir := tree(t, map[string]string{"whet.jsonc": "{\n  // how many\n  \"loopGuard\": {\"warnAt\": 7}\n}"})
	l := config.Load[kit.Config]("", "", []string{"WHET_CONFIG_DIR=" + dir, "WHET_LOOPGUARD__REFUSEAT=8"})
	got := map[string]string{}
	for k, o := range l.Origins {
		got[k] = strings.ReplaceAll(filepath.ToSlash(o.String()), filepath.ToSlash(dir), "DIR")
	}
	want := map[string]string{"loopGuard.warnAt": "DIR/whet.jsonc:3:27", "loopGuard.refuseAt": "WHET_LOOPGUARD__REFUSEAT"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// The committed schema is the one that the structs make.
func TestSchemaFile(t *testing.T) {
	got, err := kit.Schema()
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const file = "../schema/whet.schema.json"
	if os.Getenv("WHET_UPDATE") != "" {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s is stale; run WHET_UPDATE=1 go test ./config\n%s", file, d)
	}
}

// What an editor accepts by the schema, whet accepts, and the other way round.
func TestSchemaAgrees(t *testing.T) {
	b, err := kit.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{
		`{}`:                                true,
		`{"loopGuard":{"warnAt":4}}`:        true,
		`{"loopGuard":{"warnAt":1}}`:        false,
		`{"loopGuard":{"warnAt":"x"}}`:      false,
		`{"loopGuard":{"exempt":[1]}}`:      false,
		`{"tools":{"disabled":["a","b"]}}`:  true,
		`{"formatter":{"enabled":"false"}}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if (schema.Validate(v) == nil) != good {
			t.Errorf("schema on %s: want good %v", text, good)
		}
		if l := config.Load[kit.Config]("", "", content(text)); (len(l.Problems) == 0) != good {
			t.Errorf("loader on %s: want good %v, got %q", text, good, l.Problems)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(`{"loopGuard": {"warnAt": 4, /* x */ }}`)
	f.Add(`{"a":{"b":[{"c":1}]},"a":2,"tools":{"disabled":"x"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			t.Skip()
		}
		g := config.Load[kit.Config]("", "", content(text)).Config.LoopGuard
		if g.WarnAt != 0 && (g.WarnAt < 2 || g.WarnAt > 100) {
			t.Errorf("warnAt %d got past its bounds", g.WarnAt)
		}
	})
}
