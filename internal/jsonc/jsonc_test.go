package jsonc

import (
	"strings"
	"testing"
)

func TestEdits(t *testing.T) {
	set := func(path string, value any) func(*Document) error {
		return func(d *Document) error { return d.Set(value, strings.Split(path, "/")...) }
	}
	del := func(path string) func(*Document) error {
		return func(d *Document) error { return d.Delete(strings.Split(path, "/")...) }
	}
	for name, c := range map[string]struct {
		in   string
		edit func(*Document) error
		want string // begins with "error: " if it is one
	}{
		"nothing":                        {"", set("a/b", true), "{\n  \"a\": {\n    \"b\": true\n  }\n}\n"},
		"nothing but a mark":             {"\ufeff", set("a", 1), "\ufeff{\n  \"a\": 1\n}\n"},
		"nothing to do":                  {"", del("a"), ""},
		"as it is":                       {`{"a":1.0e1,}`, set("a", 10), `{"a":10,}`},
		"the same":                       {`{"a" : {"y":[1,2],"x":"\u0041"}}`, set("a", map[string]any{"x": "A", "y": []int{1, 2}}), `{"a" : {"y":[1,2],"x":"\u0041"}}`},
		"behind a comment of the line":   {"{\n\t\"a\": 1 // one\n}", set("b", 2), "{\n\t\"a\": 1, // one\n\t\"b\": 2\n}"},
		"trailing comma":                 {"{\n  \"a\": 1,\n}\n", set("b", 2), "{\n  \"a\": 1,\n  \"b\": 2,\n}\n"},
		"trailing comma behind a note":   {"{\n  \"a\": 1 /* one */ , // x\n}\n", set("b", 2), "{\n  \"a\": 1 /* one */ , // x\n  \"b\": 2,\n}\n"},
		"strict stays strict":            {"{\n  \"a\": 1\n}\n", set("b", []int{}), "{\n  \"a\": 1,\n  \"b\": []\n}\n"},
		"Windows":                        {"\ufeff{\r\n    \"a\": {}\r\n}\r\n", set("a/x/y", "z"), "\ufeff{\r\n    \"a\": {\r\n        \"x\": {\r\n            \"y\": \"z\"\r\n        }\r\n    }\r\n}\r\n"},
		"one line":                       {`{"a": 1}`, set("b", map[string]int{"c": 2}), `{"a": 1, "b": {"c":2}}`},
		"a comment that ends the file":   {"{}// end", set("a", 1), "{\n  \"a\": 1\n}// end"},
		"quotes and brackets in a note":  {"{ // \"{[,\n}", set("a", 1), "{ // \"{[,\n  \"a\": 1\n}"},
		"of a list":                      {`{"a": ["x", "y"]}`, set("a/1", "z"), `{"a": ["x", "z"]}`},
		"to a list":                      {"{\n  \"a\": [\n    \"x\" // ex\n  ]\n}", set("a/-", "y"), "{\n  \"a\": [\n    \"x\", // ex\n    \"y\"\n  ]\n}"},
		"a new list":                     {"{}", set("a/-/b", 1), "{\n  \"a\": [\n    {\n      \"b\": 1\n    }\n  ]\n}"},
		"a name with signs":              {"{}", set(`<"&>`, "<"), "{\n  \"<\\\"&>\": \"<\"\n}"},
		"big numbers are not rounded":    {`{"a": 9007199254740993}`, set("b", 1), `{"a": 9007199254740993, "b": 1}`},
		"delete the first":               {"{\n  \"a\": 1, // one\n  \"b\": 2\n}", del("a"), "{ // one\n  \"b\": 2\n}"},
		"delete the last":                {"{\n  // the a\n  \"a\": 1,\n  \"b\": 2\n}", del("b"), "{\n  // the a\n  \"a\": 1\n}"},
		"delete the only":                {"{\n  \"a\": 1\n}\n", del("a"), "{}\n"},
		"delete what isn't there":        {"{ \"a\" : 1 , }", del("a/b/c"), "{ \"a\" : 1 , }"},
		"delete of a list":               {`{"a": [1, 2, 3,]}`, del("a/2"), `{"a": [1, 2,]}`},
		"delete behind a line's comment": {"{ // x\n\"a\": 1 }", del("a"), "{ // x\n}"},
		"twice":                          {"{\n\"a\": 1,\n\"a\": 2}", set("a", 3), "error: duplicate key \"a\" (line 3); leave one of the two"},
		"twice on the way":               {`{"m": {"a": {}, "a": {}}}`, del("m/a/x"), "error: duplicate key \"m.a\" (line 1); leave one of the two"},
		"twice elsewhere":                {`{"b": 1, "b": 2, "a": 1}`, set("a", 3), `{"b": 1, "b": 2, "a": 3}`},
		"into a number":                  {`{"a": 1}`, set("a/b", 1), "error: a: it is neither an object nor a list"},
		"into null":                      {`{"a": null}`, set("a/b", 1), "error: a: it is null; remove it first"},
		"a name in a list":               {`{"a": []}`, set("a/b", 1), "error: a is a list and has no b"},
		"beyond a list":                  {`{"a": []}`, set("a/1", 1), "error: a is a list and has no 1"},
		"the whole":                      {`{}`, func(d *Document) error { return d.Delete() }, "error: the whole document can't be deleted"},
		"prune":                          {"{\"k\": 1, \"a\": {\"b\": {}}}", func(d *Document) error { return d.Prune("a", "b", "c") }, "{\"k\": 1}"},
		"prune up to a comment":          {"{\"a\": { /* of a */ \"b\": {}}}", func(d *Document) error { return d.Prune("a", "b") }, "{\"a\": { /* of a */}}"},
		"prune what holds something":     {"{\"a\": {\"b\": 0}}", func(d *Document) error { return d.Prune("a") }, "{\"a\": {\"b\": 0}}"},
	} {
		d, err := Parse([]byte(c.in))
		if err == nil {
			err = c.edit(d)
		}
		got := ""
		if err != nil {
			got = "error: " + err.Error()
			if string(d.Bytes()) != c.in {
				t.Errorf("%s: an edit that failed has changed the text to %q", name, d.Bytes())
			}
		} else {
			got = string(d.Bytes())
		}
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"[]":                     "it is not a JSON object",
		`{"a": }`:                "line 1, column 7: ",
		"{} {}":                  "line 1, column 4: ",
		strings.Repeat("[", 1e7): "it is nested more than 1000 deep",
		`{"a":"` + strings.Repeat("[", 2000) + `"}`: "",
		"{} // " + strings.Repeat("[", 2000):        "",
	} {
		_, err := Parse([]byte(in))
		if got := errorText(err); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%.20q: got %q, want %q", in, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLookups(t *testing.T) {
	d, err := Parse([]byte("{\n \"a\": [1,\n {\"b\": null}]}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Line("a", "1", "b"); got != 3 {
		t.Errorf("line %d, want 3", got)
	}
	if got := d.Line("a", "2"); got != 0 {
		t.Errorf("line %d of what isn't there", got)
	}
	if v, ok := d.Get("a", "1", "b"); v != nil || !ok {
		t.Errorf("got %v, %v", v, ok)
	}
	if !d.Has([]any{1, map[string]any{"b": nil}}, "a") || d.Has(2, "a", "0") || d.Has(nil, "b") {
		t.Error("Has")
	}
}
