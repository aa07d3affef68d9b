package astgrep

import (
	"fmt"
	"slices"
	"strings"
)

// A language is one that ast-grep has built in and that the tools offer.
type language struct {
	name    string
	aliases []string
	exts    []string // of the files that the engine reads for it
	hosts   []string // of files of other languages that may hold it
	root    string   // kind of the node that is a whole file
	// exact says that the language's keywords have one spelling, so that one in
	// a pattern must stand in a file just so, and that its identifiers are whole
	// words. CSS has parts of words for identifiers, after a number or in what
	// it can't parse.
	exact bool
	// whole says that a keyword is read as an identifier would be and then
	// compared, so that it can't be a part of a longer word either.
	whole bool
	// wraps are fragments of code in which a pattern may be read, "@" standing
	// for it, if it isn't one complete node alone or means another thing there.
	wraps []string
}

// languages lists them by name. It is a function so that a process that never
// searches doesn't pay for the list.
func languages() []language {
	htmlExts := []string{"html", "htm", "xhtml"}
	jsWraps := []string{"class A { @ }", "({ @ })", "async function f() { @ }", "switch (a) { @ }"}
	tsWraps := append([]string{"interface T { @ }", "type T = @"}, jsWraps...)
	return []language{
		{name: "bash", aliases: []string{"sh", "shell", "zsh"}, exts: []string{"bash", "bats", "cgi", "command", "env", "fcgi", "ksh", "sh", "tmux", "tool", "zsh"}, root: "program", exact: true},
		{name: "c", exts: []string{"c", "h"}, root: "translation_unit", exact: true, whole: true, wraps: []string{"void t() { @; }", "void t() { @ }", "struct t { @ };"}},
		{name: "cpp", aliases: []string{"c++", "cc", "cxx"}, exts: []string{"cc", "hpp", "cpp", "c++", "hh", "cxx", "cu", "ino"}, root: "translation_unit", exact: true, whole: true, wraps: []string{"void t() { @; }", "void t() { @ }", "class t { @ };"}},
		{name: "csharp", aliases: []string{"c#", "cs"}, exts: []string{"cs"}, root: "compilation_unit", exact: true, whole: true, wraps: []string{"class T { void F() { @; } }", "class T { void F() { @ } }", "class T { @ }"}},
		{name: "css", aliases: []string{"scss"}, exts: []string{"css", "scss"}, hosts: htmlExts, root: "stylesheet", wraps: []string{"a { @; }", "a { @ }"}},
		{name: "elixir", aliases: []string{"ex"}, exts: []string{"ex", "exs"}, root: "source", exact: true},
		{name: "go", aliases: []string{"golang"}, exts: []string{"go"}, root: "source_file", exact: true, whole: true, wraps: []string{"func t() { @ }", "type t struct { @ }", "func t() { switch a { @ } }", "var t = @", "type t interface { @ }"}},
		{name: "haskell", aliases: []string{"hs"}, exts: []string{"hs"}, root: "haskell", wraps: []string{"t = @"}},
		{name: "html", exts: htmlExts, root: "document"},
		{name: "java", exts: []string{"java"}, root: "program", exact: true, whole: true, wraps: []string{"class T { void f() { @; } }", "class T { void f() { @ } }", "class T { @ }"}},
		{name: "javascript", aliases: []string{"js", "jsx", "node"}, exts: []string{"cjs", "js", "mjs", "jsx"}, hosts: htmlExts, root: "program", exact: true, whole: true, wraps: jsWraps},
		{name: "json", exts: []string{"json"}, root: "document", wraps: []string{"{ @ }"}},
		{name: "kotlin", aliases: []string{"kt"}, exts: []string{"kt", "ktm", "kts"}, root: "source_file", exact: true, wraps: []string{"fun t() { @ }", "class T { @ }"}},
		{name: "lua", exts: []string{"lua"}, root: "chunk", exact: true, wraps: []string{"local t = @", "local t = { @ }"}},
		{name: "nix", exts: []string{"nix"}, root: "source_code", exact: true, wraps: []string{"{ @ }", "{ @; }"}},
		{name: "php", exts: []string{"php"}, root: "program", wraps: []string{"function t() { @; }", "function t() { @ }", "class T { @ }"}},
		{name: "python", aliases: []string{"py"}, exts: []string{"py", "py3", "pyi", "bzl", "bazel"}, root: "module", exact: true, whole: true, wraps: []string{"async def t():\n  @", "t(@)"}},
		{name: "ruby", aliases: []string{"rb"}, exts: []string{"rb", "rbw", "gemspec"}, root: "program", exact: true, wraps: []string{"t(@)"}},
		{name: "rust", aliases: []string{"rs"}, exts: []string{"rs"}, root: "source_file", exact: true, whole: true, wraps: []string{"fn t() { @; }", "fn t() { @ }", "impl T { @ }", "struct T { @ }", "fn t() { match a { @ } }"}},
		{name: "scala", exts: []string{"scala", "sc", "sbt"}, root: "compilation_unit", exact: true, wraps: []string{"object T { @ }"}},
		{name: "solidity", aliases: []string{"sol"}, exts: []string{"sol"}, root: "source_file", exact: true, whole: true, wraps: []string{"contract C { function f() public { @; } }", "contract C { function f() public { @ } }", "contract C { @ }"}},
		{name: "swift", exts: []string{"swift"}, root: "source_file", exact: true, wraps: []string{"func t() { @ }", "class T { @ }"}},
		{name: "typescript", aliases: []string{"ts"}, exts: []string{"cts", "mts", "ts"}, hosts: htmlExts, root: "program", exact: true, whole: true, wraps: tsWraps},
		{name: "tsx", exts: []string{"tsx"}, hosts: htmlExts, root: "program", exact: true, whole: true, wraps: tsWraps},
		{name: "yaml", aliases: []string{"yml"}, exts: []string{"yaml", "yml"}, root: "stream"},
	}
}

// Languages returns the names of the languages.
func Languages() []string {
	var names []string
	for _, l := range languages() {
		names = append(names, l.name)
	}
	return names
}

// findLanguage returns the language called name.
func findLanguage(name string) (language, error) {
	want := strings.ToLower(strings.TrimSpace(name))
	if want == "" {
		return language{}, fmt.Errorf("lang is missing; it is one of %s", strings.Join(Languages(), ", "))
	}
	for _, l := range languages() {
		if l.name == want || slices.Contains(l.aliases, want) {
			return l, nil
		}
	}
	hint := ""
	for _, l := range languages() {
		for _, n := range append([]string{l.name}, l.aliases...) {
			if len(n) > 1 && (strings.HasPrefix(want, n) || strings.HasPrefix(n, want)) {
				hint = fmt.Sprintf("; did you mean %s?", l.name)
			}
		}
	}
	return language{}, fmt.Errorf("lang %s isn't known%s It is one of %s", quote(name), or(hint, "."), strings.Join(Languages(), ", "))
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// reads tells whether the engine looks for the language in a file called name.
func (l language) reads(name string) bool {
	return hasExt(name, l.exts) || hasExt(name, l.hosts)
}

func hasExt(name string, exts []string) bool {
	i := strings.LastIndexByte(name, '.')
	return i >= 0 && slices.Contains(exts, name[i+1:])
}
