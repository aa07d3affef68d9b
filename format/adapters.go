package format

import (
	"bytes"
	"context"
	"fmt"
	"go/format"
	"path/filepath"
	"strings"

	"mvdan.cc/editorconfig"
	"mvdan.cc/sh/v3/syntax"
)

func gofmt(_ context.Context, _, text string) (string, error) {
	out, err := format.Source([]byte(text))
	return string(out), err
}

// shfmt formats as .editorconfig says, with the properties that shfmt's own
// command reads, but for keep_padding, which is on its way out there.
func shfmt(_ context.Context, path, text string) (string, error) {
	props, err := editorconfig.Find(path, []string{"shell"})
	if err != nil {
		return "", fmt.Errorf("reading .editorconfig: %w", err)
	}
	lang := syntax.LangBash
	if v := props.Get("shell_variant"); v != "" {
		if err := lang.Set(v); err != nil {
			return "", err
		}
	}
	indent := uint(0)
	if props.Get("indent_style") == "space" {
		indent = 8
		if n := props.IndentSize(); n > 0 {
			indent = uint(n)
		}
	}
	f, err := syntax.NewParser(syntax.KeepComments(true), syntax.Variant(lang)).Parse(strings.NewReader(text), filepath.Base(path))
	if err != nil {
		return "", err
	}
	is := func(name string) bool { return props.Get(name) == "true" }
	if is("simplify") || is("minify") {
		syntax.Simplify(f)
	}
	var b bytes.Buffer
	err = syntax.NewPrinter(
		syntax.Indent(indent),
		syntax.BinaryNextLine(is("binary_next_line")),
		syntax.SwitchCaseIndent(is("switch_case_indent")),
		syntax.SpaceRedirects(is("space_redirects")),
		syntax.FunctionNextLine(is("function_next_line")),
		syntax.Minify(is("minify")),
	).Print(&b, f)
	return b.String(), err
}

// applies reports whether a mark that more than one program reads is meant for
// this formatter: .editorconfig is for shfmt only if it says how to indent.
func (r *row) applies(s *site) bool {
	if r.name != "shfmt" {
		return true
	}
	props, err := editorconfig.Find(s.path, []string{"shell"})
	return err == nil && props.Get("indent_style") != ""
}

// rustfmtArgs gives the edition of the crate, which rustfmt can't know from a
// text alone, and the project's rustfmt.toml, which it would look for from
// where it runs.
func rustfmtArgs(s *site) (args []string) {
	edition := "2021"
	for _, d := range s.dirs {
		toml := s.content(filepath.Join(d, "Cargo.toml"))
		if v, ok := tomlString(toml, "edition"); ok {
			edition = v
			break
		}
	}
	args = append(args, "--edition", edition)
	for _, d := range s.dirs {
		if f := s.marked(d, "rustfmt.toml .rustfmt.toml"); f != nil {
			return append(args, "--config-path", f[0])
		}
	}
	return args
}

// tomlString returns the string of the first line that sets key.
func tomlString(toml, key string) (string, bool) {
	for line := range strings.Lines(toml) {
		k, v, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(k) != key {
			continue
		}
		if v, ok = strings.CutPrefix(strings.TrimSpace(v), `"`); ok {
			v, _, ok = strings.Cut(v, `"`)
			return v, ok
		}
	}
	return "", false
}

func denoArgs(s *site) []string {
	return []string{"fmt", "--ext=" + strings.TrimPrefix(filepath.Ext(s.path), "."), "-"}
}

func zigArgs(s *site) []string {
	if filepath.Ext(s.path) == ".zon" {
		return []string{"--zon"}
	}
	return nil
}
