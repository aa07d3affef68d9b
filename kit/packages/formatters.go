package packages

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/market"
)

// Formatters returns the options with the trusted packages' formatters below
// them: what a person set of a formatter of that name holds. A package can't
// take a built-in formatter's name, or that of another package.
func (s Set) Formatters(o format.Options) (merged format.Options, problems []string) {
	by := map[string]string{}
	below := map[string]format.Use{}
	for _, p := range s {
		if !p.Trusted {
			continue
		}
		for _, f := range p.Plugin.Formatters {
			u, err := use(p, f.Value)
			switch {
			case err != nil:
			case format.BuiltIn(f.Name):
				err = fmt.Errorf("whet has one of that name")
			case by[f.Name] != "":
				err = fmt.Errorf("%s has one of that name", by[f.Name])
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s: formatter %s is left out: %v", p.ID, f.Name, err))
				continue
			}
			by[f.Name], below[f.Name] = p.ID, u
		}
	}
	if len(below) == 0 {
		return o, problems
	}
	merged = format.Options{Use: below}
	b, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(b, &merged)
	}
	if err != nil { // our own options always do
		return o, append(problems, err.Error())
	}
	return merged, problems
}

// use reads a formatter and expands what it says of the package's files.
func use(p market.Package, value []byte) (u format.Use, err error) {
	if err := json.Unmarshal(value, &u); err != nil {
		return u, err
	}
	if len(u.Command) == 0 {
		return u, fmt.Errorf("it has no command")
	}
	e := environ{p: p}
	u.Command = slices.Clone(u.Command)
	u.Command[0] = e.program(u.Command[0])
	for i, w := range u.Command {
		if u.Command[i], err = e.expand(w); err != nil {
			return u, err
		}
	}
	return u, nil
}
