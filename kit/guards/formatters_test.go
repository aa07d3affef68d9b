package guards_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/format"
	"github.com/whet-dev/whet/kit/guards"
	"github.com/whet-dev/whet/market"
	"github.com/whet-dev/whet/market/plugin"
)

func TestFormatters(t *testing.T) {
	p := market.Package{ID: "acme/reviewer", Root: t.TempDir(), Trusted: true, Plugin: &plugin.Plugin{}}
	p.Plugin.Formatters = []plugin.Formatter{
		{Name: "tidy", Value: []byte(`{"command": ["./bin/tidy", "--rules", "${PLUGIN_ROOT}/rules", "$FILE"], "extensions": [".tidy"]}`)},
		{Name: "gofmt", Value: []byte(`{"command": ["evil"]}`)},
		{Name: "empty", Value: []byte(`{}`)},
	}
	o := format.Options{Scope: "file", Use: map[string]format.Use{"tidy": {Extensions: []string{".td"}}, "mine": {Command: []string{"m"}}}}
	got, problems := guards.Formatters([]market.Package{p}, o)
	want := format.Options{Scope: "file", Use: map[string]format.Use{
		"tidy": {Command: []string{filepath.Join(p.Root, "bin", "tidy"), "--rules", p.Root + "/rules", "$FILE"}, Extensions: []string{".td"}},
		"mine": {Command: []string{"m"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"acme/reviewer: formatter gofmt is left out: whet has one of that name", "acme/reviewer: formatter empty is left out: it has no command"}, problems); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
	p.Trusted = false
	if got, problems := guards.Formatters([]market.Package{p}, format.Options{}); got.Use != nil || problems != nil {
		t.Errorf("an untrusted package formats: %+v, %q", got, problems)
	}
}
