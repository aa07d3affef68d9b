package main

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/whet-dev/whet/internal/scriptmodel"
)

// demoSteps lists what the demo shows, in order.
func demoSteps() []demoStep {
	return []demoStep{
		{
			title: "The model searches in a directory that isn't there",
			files: map[string]string{"server/main.go": "package main\n\nfunc main() { println(\"hello\") }\n"},
			turns: []scriptmodel.Step{play("grep", `{"pattern": "hello", "path": "sever"}`)},
			check: func(r demoResult) error {
				got := r.results[0]
				return want(got.Failed && strings.Contains(got.Text, "sever") && strings.Contains(got.Text, "server"),
					"a refusal that names what is there instead", got.Text)
			},
			right: "Stopped before it ran. A plain search says \"no matches\", and the model believes it.",
		},
		{
			title: "The model reads the same file again and again",
			files: map[string]string{"notes.txt": "nothing new here\n"},
			turns: repeat(6, play("read", `{"path": "notes.txt"}`)),
			check: func(r demoResult) error {
				second, third, sixth := r.results[1], r.results[2], r.results[5]
				return cmp.Or(
					want(!strings.Contains(second.Text, "LOOP GUARD"), "a plain result at the second time", second.Text),
					want(!third.Failed && strings.Contains(third.Text, "LOOP GUARD"), "a notice at the third time", third.Text),
					want(sixth.Failed && strings.Contains(sixth.Text, "refused"), "a refusal at the sixth time", sixth.Text),
				)
			},
			right: "Told at the third time, refused at the sixth.",
		},
		{
			title: "The model makes an edit that fits two places, then one that fits one",
			files: map[string]string{"config.ini": "[http]\nport = 80\n\n[admin]\nport = 80\n"},
			turns: []scriptmodel.Step{
				play("edit", `{"path": "config.ini", "old_string": "port = 80", "new_string": "port = 8080"}`),
				play("edit", `{"path": "config.ini", "old_string": "[admin]\nport = 80", "new_string": "[admin]\nport = 8080"}`),
			},
			check: func(r demoResult) error {
				first, file := r.results[0], r.file("config.ini")
				return cmp.Or(
					want(first.Failed && strings.Contains(first.Text, "lines 2, 5"), "a refusal that names both lines", first.Text),
					want(file == "[http]\nport = 80\n\n[admin]\nport = 8080\n", "only the second port changed", file),
				)
			},
			right: "Refused with the lines where it fits, then applied to the one that was meant.",
		},
		{
			title: "The model writes Go without minding the layout",
			turns: []scriptmodel.Step{play("write", `{"path": "greet/greet.go", "content": "package greet\nfunc  Hello( name string )string{\nreturn \"hello, \"+name}\n"}`)},
			check: func(r demoResult) error {
				got, file := r.results[0], r.file("greet/greet.go")
				return cmp.Or(
					want(!got.Failed && strings.Contains(got.Text, "formatted"), "a note that it was formatted", got.Text),
					want(file == "package greet\n\nfunc Hello(name string) string {\n\treturn \"hello, \" + name\n}\n", "gofmt's layout", file),
				)
			},
			right: "Formatted at once, and the model was told, so that its next edit fits.",
		},
	}
}

// play is a turn in which the model calls one tool.
func play(tool, args string) scriptmodel.Step {
	return scriptmodel.Step{Calls: []scriptmodel.Call{{Name: tool, Args: json.RawMessage(args)}}}
}

func repeat(n int, s scriptmodel.Step) (steps []scriptmodel.Step) {
	for range n {
		steps = append(steps, s)
	}
	return steps
}
