package whet_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet"
)

type params struct {
	Pattern string   `json:"pattern" doc:"what to look for" eg:"func main"`
	File    string   `json:"file_path,omitempty" doc:"where" alias:"path,file"`
	Globs   []string `json:"globs,omitempty" doc:"filters"`
	N       int      `json:"n,omitempty" doc:"how many" min:"0" max:"100"`
	Ratio   float64  `json:"ratio,omitempty" doc:"share"`
	Case    *bool    `json:"case,omitempty" doc:"whether case counts"`
	Mode    string   `json:"output_mode,omitempty" doc:"form" enum:"content,files"`
	Edits   []edit   `json:"edits,omitempty" doc:"changes"`
	Extra   *edit    `json:"extra,omitempty" doc:"one more"`
}

type edit struct {
	Old string `json:"old" doc:"text to replace"`
	New string `json:"new,omitempty" doc:"text to put"`
}

func TestDecode(t *testing.T) {
	yes := true
	for _, c := range []struct {
		name, args string
		want       params
		notes      string // joined by "; "
	}{
		{"plain", `{"pattern":"x","n":3}`, params{Pattern: "x", N: 3}, ""},
		{"camel case", `{"pattern":"x","filePath":"a"}`, params{Pattern: "x", File: "a"}, ""},
		{"other case and dashes", `{"Pattern":"x","file-path":"a"}`, params{Pattern: "x", File: "a"}, ""},
		{"alias", `{"pattern":"x","path":"a"}`, params{Pattern: "x", File: "a"}, ""},
		{"the own name wins over an alias", `{"pattern":"x","path":"b","file_path":"a"}`, params{Pattern: "x", File: "a"}, `ignored "path", because "file_path" was given too`},
		{"unknown", `{"pattern":"x","zeta":1,"alpha":2}`, params{Pattern: "x"}, `ignored unknown parameter "alpha"; known: pattern, file_path, globs, n, ratio, case, output_mode, edits, extra; ignored unknown parameter "zeta"; known: pattern, file_path, globs, n, ratio, case, output_mode, edits, extra`},
		{"number in a string", `{"pattern":"x","n":" 5 "}`, params{Pattern: "x", N: 5}, ""},
		{"whole number as a float", `{"pattern":"x","n":5.0}`, params{Pattern: "x", N: 5}, ""},
		{"number for a string", `{"pattern":404}`, params{Pattern: "404"}, ""},
		{"float", `{"pattern":"x","ratio":"0.5"}`, params{Pattern: "x", Ratio: 0.5}, ""},
		{"boolean in a string", `{"pattern":"x","case":"True"}`, params{Pattern: "x", Case: &yes}, ""},
		{"one value for a list", `{"pattern":"x","globs":"*.go"}`, params{Pattern: "x", Globs: []string{"*.go"}}, ""},
		{"list in a string", `{"pattern":"x","globs":"[\"a\",\"b\"]"}`, params{Pattern: "x", Globs: []string{"a", "b"}}, ""},
		{"a glob that looks like a list is text", `{"pattern":"x","globs":"[ab]*.go"}`, params{Pattern: "x", Globs: []string{"[ab]*.go"}}, ""},
		{"list of one for a value", `{"pattern":["x"]}`, params{Pattern: "x"}, ""},
		{"null is absent", `{"pattern":"x","n":null,"globs":null,"case":null}`, params{Pattern: "x"}, ""},
		{"object in a string", `"{\"pattern\":\"x\"}"`, params{Pattern: "x"}, ""},
		{"the only required parameter, bare", `"x y"`, params{Pattern: "x y"}, ""},
		{"text that looks like JSON stays text", `{"pattern":"{\"a\":1}"}`, params{Pattern: `{"a":1}`}, ""},
		{"enum in other case", `{"pattern":"x","output_mode":"Files"}`, params{Pattern: "x", Mode: "files"}, ""},
		{"over the maximum", `{"pattern":"x","n":5000}`, params{Pattern: "x", N: 100}, "n 5000 is over the maximum, used 100"},
		{"under the minimum", `{"pattern":"x","n":-1}`, params{Pattern: "x"}, "n -1 is under the minimum, used 0"},
		{"nested list", `{"pattern":"x","edits":[{"old":"a","NEW":"b"},{"old":"c"}]}`, params{Pattern: "x", Edits: []edit{{"a", "b"}, {"c", ""}}}, ""},
		{"nested list in a string", `{"pattern":"x","edits":"[{\"old\":\"a\"}]"}`, params{Pattern: "x", Edits: []edit{{"a", ""}}}, ""},
		{"one object for a list", `{"pattern":"x","edits":{"old":"a"}}`, params{Pattern: "x", Edits: []edit{{"a", ""}}}, ""},
		{"nested object", `{"pattern":"x","extra":{"old":"a"}}`, params{Pattern: "x", Extra: &edit{"a", ""}}, ""},
		{"nested unknown", `{"pattern":"x","extra":{"old":"a","k":1}}`, params{Pattern: "x", Extra: &edit{"a", ""}}, `ignored unknown parameter "extra.k"; known: old, new`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got params
			notes, err := whet.Decode(json.RawMessage(c.args), &got)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if n := strings.Join(notes, "; "); n != c.notes {
				t.Errorf("notes %q, want %q", n, c.notes)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{``, `missing parameter "pattern" (what to look for); example: {"pattern":"func main"}`},
		{`null`, `missing parameter "pattern" (what to look for); example: {"pattern":"func main"}`},
		{`{}`, `missing parameter "pattern" (what to look for); example: {"pattern":"func main"}`},
		{`{"pattern":null}`, `missing parameter "pattern" (what to look for); example: {"pattern":"func main"}`},
		{`{"pattern":{"a":1}}`, `parameter "pattern" must be a string, got {"a":1}; example: {"pattern":"func main"}`},
		{`{"pattern":["a","b"]}`, `parameter "pattern" must be a string, got ["a","b"]; example: {"pattern":"func main"}`},
		{`{"pattern":"x","n":"many"}`, `parameter "n" must be a whole number, got "many"; example: {"n":10}`},
		{`{"pattern":"x","n":5.5}`, `parameter "n" must be a whole number, got 5.5; example: {"n":10}`},
		{`{"pattern":"x","n":"NaN"}`, `parameter "n" must be a whole number, got "NaN"; example: {"n":10}`},
		{`{"pattern":"x","ratio":[]}`, `parameter "ratio" must be a number, got []; example: {"ratio":10}`},
		{`{"pattern":"x","case":"maybe"}`, `parameter "case" must be true or false, got "maybe"; example: {"case":true}`},
		{`{"pattern":"x","output_mode":"xml"}`, `parameter "output_mode" must be one of content, files, got "xml"; example: {"output_mode":"content"}`},
		{`{"pattern":"x","edits":[{"new":"b"}]}`, `missing parameter "edits[0].old" (text to replace); example: {"old":"..."}`},
		{`{"pattern":"x","extra":{"new":"b"}}`, `missing parameter "extra.old" (text to replace); example: {"old":"..."}`},
		{`[1]`, `bad arguments: want a JSON object, got [1]; parameters: pattern, file_path, globs, n, ratio, case, output_mode, edits, extra`},
		{`{"pattern":`, `bad arguments: not valid JSON: unexpected end of JSON input at byte 11`},
	} {
		var got params
		_, err := whet.Decode(json.RawMessage(c.args), &got)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.args, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"pattern":"x","n":"5","globs":"a","edits":"[{}]"}`)
	f.Add(`"x"`)
	f.Add(`{"pattern":[[[["x"]]]]}`)
	f.Fuzz(func(t *testing.T, args string) {
		var p params
		_, err := whet.Decode(json.RawMessage(args), &p)
		if err == nil && json.Valid([]byte(args)) && p.N > 100 {
			t.Errorf("%s: n is %d, over its maximum", args, p.N)
		}
	})
}

func TestSchema(t *testing.T) {
	tool := whet.New("x", "Do x.", func(context.Context, *whet.Call, params) (text, error) { return "", nil })
	b, err := json.Marshal(tool.Input())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{` +
		`"pattern":{"type":"string","description":"what to look for"},` +
		`"file_path":{"type":"string","description":"where"},` +
		`"globs":{"type":"array","description":"filters","items":{"type":"string"}},` +
		`"n":{"type":"integer","description":"how many","minimum":0,"maximum":100},` +
		`"ratio":{"type":"number","description":"share"},` +
		`"case":{"type":"boolean","description":"whether case counts"},` +
		`"output_mode":{"type":"string","description":"form","enum":["content","files"]},` +
		`"edits":{"type":"array","description":"changes","items":{"type":"object","properties":{"old":{"type":"string","description":"text to replace"},"new":{"type":"string","description":"text to put"}},"required":["old"]}},` +
		`"extra":{"type":"object","description":"one more","properties":{"old":{"type":"string","description":"text to replace"},"new":{"type":"string","description":"text to put"}},"required":["old"]}},` +
		`"required":["pattern"]}`
	if string(b) != want {
		t.Errorf(" got %s\nwant %s", b, want)
	}
}

// An object without parameters still says so: some hosts drop a tool without.
func TestEmptySchema(t *testing.T) {
	tool := whet.New("x", "Do x.", func(context.Context, *whet.Call, struct{}) (text, error) { return "", nil })
	b, err := json.Marshal(tool.Input())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"object","properties":{}}`; string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
}
