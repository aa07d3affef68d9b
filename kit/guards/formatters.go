package guards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/market"
)

// Formatters returns the options with the trusted packages' formatters below
// them: what a person set of a formatter of that name holds. A package can't
// take a built-in formatter's name, or that of another package.
func Formatters(all []market.Package, o format.Options) (merged format.Options, problems []string) {
	by := map[string]string{}
	below := map[string]format.Use{}
	for _, p := range all {
		if !p.Trusted {
			continue
		}
		for _, f := range p.Plugin.Formatters {
			u, err := use(p, f.Value)
			switch {
			case err != nil:
			case format.BuiltIn(f.Name):
				err = errors.New("whet has one of that name")
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

// use reads a formatter and says where the package's files are.
func use(p market.Package, value []byte) (u format.Use, err error) {
	if err := json.Unmarshal(value, &u); err != nil {
		return u, err
	}
	if len(u.Command) == 0 {
		return u, errors.New("it has no command")
	}
	if rest, ok := strings.CutPrefix(u.Command[0], "./"); ok {
		u.Command[0] = filepath.Join(p.Root, filepath.FromSlash(rest))
	}
	place := strings.NewReplacer("${PLUGIN_ROOT}", p.Root, "${PLUGIN_DATA}", p.Data)
	for i, w := range u.Command {
		u.Command[i] = place.Replace(w)
	}
	return u, nil
}

// WithPackages returns the guards with the formatters of the packages in force.
// They are looked up when a call has changed a file, and not before: a hook
// process pays for what it needs.
func WithPackages(all []whet.Guard, c Config, w market.Where) []whet.Guard {
	if len(c.Market.Packages) == 0 {
		return all
	}
	for i, g := range all {
		if g.Name != format.Name || g.After == nil {
			continue
		}
		all[i].After = func(ctx context.Context, call *whet.Call, r *whet.Result) error {
			if r.Failed || len(r.Changed) == 0 {
				return nil
			}
			in, _, err := market.Active(ctx, w)
			if err != nil {
				return errors.Join(err, g.After(ctx, call, r))
			}
			o, _ := Formatters(in, c.Formatter) // what is left out is told where a session begins
			return format.Guard(o).After(ctx, call, r)
		}
	}
	return all
}
