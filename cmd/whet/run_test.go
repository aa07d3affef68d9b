package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/whet-dev/whet/internal/scriptmodel"
)

// modelCommand is the script command "model FILE": it serves the scripted
// model, and sets $MODEL to its address. "model requests" writes what was asked
// of it to requests.jsonl, a line each.
func modelCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model FILE | model requests")
	}
	if args[0] == "requests" {
		srv, _ := ts.Value("model").(*holder)
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		for _, r := range srv.server.Requests() {
			ts.Check(e.Encode(r))
		}
		ts.Check(os.WriteFile(ts.MkAbs("requests.jsonl"), b.Bytes(), 0o600))
		return
	}
	script, err := scriptmodel.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	srv, err := scriptmodel.Start(script)
	ts.Check(err)
	ts.Defer(func() { srv.Close() })
	ts.Value("model").(*holder).server = srv
	ts.Setenv("MODEL", srv.URL)
}

// holder is where a script's environment keeps its model.
type holder struct{ server *scriptmodel.Server }
