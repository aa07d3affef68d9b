package whet

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// A Tool is something a model can call.
type Tool struct {
	Name string
	Doc  string // shown to the model; the first line is the title
	// Hints for hosts that ask a person before some calls.
	ReadOnly    bool // changes nothing
	Destructive bool // may overwrite or delete
	Idempotent  bool // the same call again changes nothing more
	OpenWorld   bool // reaches beyond the machine

	PathArg string         // the parameter that is the call's Path, if any
	Input   func() *Schema // made on first use: hooks never need it
	Run     func(context.Context, *Call) (*Result, error)
}

// Title returns the first line of the tool's Doc.
func (t Tool) Title() string {
	title, _, _ := strings.Cut(t.Doc, "\n")
	return strings.TrimSpace(title)
}

// New makes a Tool from a typed function. Out's String is what the model reads
// and its JSON is what machines read. If Out has a method Changed() []string
// or Failed() bool, it fills that field of the [Result].
//
// In is a struct whose fields are the parameters. Their tags:
//
//	json:"name,omitempty"   name; without omitempty the parameter is required
//	doc:"what it is"        description for the model
//	enum:"a,b"              the only values allowed
//	alias:"x,y"             other names that models use for it
//	min:"0" max:"20"        bounds; a number outside is moved to the bound, and said so
//	eg:"value"              an example, shown in errors
//	layer:"user"            in configuration: not for a project's own file
//	layer:"trusted"         in configuration: for a project's own file if a person trusts it
//	inline:"true"           in configuration: a map of all other members
//
// Arguments are read leniently, see [Decode].
func New[In any, Out fmt.Stringer](name, doc string, run func(context.Context, *Call, In) (Out, error)) Tool {
	fields := sync.OnceValue(func() []field { return fieldsOf(reflect.TypeFor[In]()) })
	return Tool{
		Name:  name,
		Doc:   doc,
		Input: sync.OnceValue(func() *Schema { return objectSchema(fields()) }),
		Run: func(ctx context.Context, c *Call) (*Result, error) {
			var in In
			notes, err := decodeObject(c.Args, reflect.ValueOf(&in).Elem(), fields())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			out, err := run(ctx, c, in)
			if err != nil {
				return nil, err
			}
			r := &Result{Text: out.String(), Data: out}
			if v, ok := any(out).(interface{ Changed() []string }); ok {
				r.Changed = v.Changed()
			}
			if v, ok := any(out).(interface{ Failed() bool }); ok {
				r.Failed = v.Failed()
			}
			if len(notes) > 0 {
				r.Note("note: %s", strings.Join(notes, "; "))
			}
			return r, nil
		},
	}
}

// Decode reads args into v, a pointer to a struct tagged as for [New], as
// leniently as it can without guessing: null is {}, a JSON text in a string is
// read, "5" is a number where one is wanted, a single value is a list of one,
// and camelCase, snake_case and aliases name the same parameter. The notes say
// what was ignored or moved; the error names the parameter, what came, and an
// example.
func Decode(args json.RawMessage, v any) (notes []string, err error) {
	rv := reflect.ValueOf(v).Elem()
	return decodeObject(args, rv, fieldsOf(rv.Type()))
}
