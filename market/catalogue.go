package market

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/market/convert"
)

// remote says why a plugin of a catalogue can't be had.
const remote = "remote-source-not-fetched"

// offer lists the plugins of a catalogue, of which none was chosen.
func offer(path string, all []convert.Entry) Outcome {
	lines := []string{fmt.Sprintf("%s offers %s; choose one with %s#NAME:", path, plural(len(all), "plugin"), path)}
	for _, e := range all {
		line := "  " + strings.TrimRight(strings.Join([]string{e.Name, e.Version, e.Description}, "\t"), "\t")
		if e.Remote {
			line += "\t(" + remote + ": " + e.Source + ")"
		}
		lines = append(lines, line)
	}
	return Outcome{Action: "import", OK: true, Text: escape.Lines(strings.Join(lines, "\n"))}
}

// ImportSome imports the named plugins of a catalogue, all that are in it if
// there are no names. It goes on after one that can't be had; the outcome is not
// OK then, but for those that no name asked for.
func (m *Market) ImportSome(ctx context.Context, path string, names []string) (Outcome, error) {
	r, _, err := m.fetch(ctx, path)
	if err != nil {
		return Outcome{}, coded("import", err)
	}
	if r.Tree != nil {
		return Outcome{}, coded("import", errorf(InvalidArguments, "%s is no catalogue; import it without a choice", path))
	}
	for _, n := range names {
		if !slices.ContainsFunc(r.Catalogue, func(e convert.Entry) bool { return e.Name == n }) {
			return Outcome{}, coded("import", errorf(NotFound, "the catalogue has no plugin %q", n))
		}
	}
	o := Outcome{Action: "import", OK: true, ReloadRequired: unknown}
	var lines []string
	for _, e := range r.Catalogue {
		chosen := slices.Contains(names, e.Name)
		switch {
		case len(names) > 0 && !chosen:
			continue
		case e.Remote:
			o.OK = o.OK && !chosen
			lines = append(lines, fmt.Sprintf("%s: %s: %s", e.Name, remote, e.Source))
			continue
		}
		one, err := m.Import(ctx, path+"#"+e.Name)
		if ctx.Err() != nil {
			return Outcome{}, ctx.Err()
		}
		if err != nil {
			o.OK = false
			lines = append(lines, fmt.Sprintf("%s: %v", e.Name, err))
			continue
		}
		o.Changed = o.Changed || one.Changed
		o.ReloadRequired = one.ReloadRequired
		o.Packages = append(o.Packages, *one.Package)
		lines = append(lines, one.Text)
	}
	o.Text = escape.Lines(strings.Join(lines, "\n"))
	return o, nil
}
