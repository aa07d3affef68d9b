package format

import (
	"context"
	"os"
	"slices"
)

// A row is what is known about one formatter. A new formatter is a new row.
//
// Marks are lists of file names, separated by spaces. After the name, ~text
// asks that the file contains the text, !text that it doesn't, #a/b that it is
// JSON with that member, and @name that it is a manifest which depends on name.
type row struct {
	name    string
	exts    string // file name endings; the longest that fits decides between rows
	configs string // marks: the nearest directory that has one says who formats
	deps    string // marks: looked at if no formatter is configured
	always  bool   // its language's one formatter: runs without any mark
	code    string // marks: files that it would run as programs
	roots   string // marks: where to run it, if no config says so

	program string   // its name, or names
	args    []string // $FILE is the file's path; stdin and stdout are the text
	inPlace bool     // it changes $FILE instead
	env     []string // so that it neither downloads nor calls home
	ok      []int    // exit codes besides 0 that are a success

	probe  []string // arguments whose output contains probed, if it is the program meant
	probed string
	more   func(*site) []string // further arguments
	// inside formats in this process: no program is needed.
	inside   func(ctx context.Context, path, text string) (string, error)
	resident bool // it is worth keeping a process of it
}

const (
	prettierExts = ".js .jsx .mjs .cjs .ts .tsx .mts .cts .html .htm .css .scss .sass .less .vue .svelte .json .jsonc .yaml .yml .toml .xml .md .mdx .graphql .gql"
	scriptExts   = ".js .jsx .mjs .cjs .ts .tsx .mts .cts"
	rubyExts     = ".rb .rake .gemspec .ru"
	pythonExts   = ".py .pyi"
	ruffMarks    = "ruff.toml .ruff.toml pyproject.toml~[tool.ruff"
	ruffDeps     = "requirements.txt~ruff pyproject.toml~ruff Pipfile~ruff"
)

// table lists the formatters. Of two that are configured in one directory the
// upper one runs, unless the other's program is there and its own isn't.
var table = [...]row{
	{
		name: "gofumpt", exts: ".go", program: "gofumpt", env: []string{"GOTOOLCHAIN=local"},
		configs: ".golangci.yml~gofumpt .golangci.yaml~gofumpt .golangci.toml~gofumpt",
	},
	{name: "gofmt", exts: ".go", always: true, inside: gofmt},
	{
		name: "mix", exts: ".ex .exs .eex .heex .leex .neex .sface", always: true, code: "mix.exs .formatter.exs", roots: "mix.exs",
		program: "mix", args: []string{"format", "--stdin-filename", "$FILE", "-"}, env: []string{"HEX_OFFLINE=1"},
	},
	{
		name: "biome", exts: prettierExts, configs: "biome.json biome.jsonc .biome.json .biome.jsonc", deps: "package.json@@biomejs/biome",
		code:    "biome.json~\"plugins\" biome.jsonc~\"plugins\" .biome.json~\"plugins\" .biome.jsonc~\"plugins\"",
		program: "biome", args: []string{"format", "--stdin-file-path=$FILE"},
	},
	{
		name: "oxfmt", exts: scriptExts, configs: ".oxfmtrc.json .oxfmtrc.jsonc oxfmt.config.ts", deps: "package.json@oxfmt", code: "oxfmt.config.ts",
		program: "oxfmt", args: []string{"--stdin-filepath", "$FILE"},
	},
	{
		name: "prettier", exts: prettierExts,
		configs: ".prettierrc .prettierrc.json .prettierrc.json5 .prettierrc.yaml .prettierrc.yml .prettierrc.toml package.json#prettier " + prettierCode,
		deps:    "package.json@prettier",
		code: prettierCode + " .prettierrc~plugins .prettierrc.json~plugins .prettierrc.json5~plugins .prettierrc.yaml~plugins .prettierrc.yml~plugins " +
			".prettierrc.toml~plugins .prettierrc!: .prettierrc.json!: package.json#prettier/plugins",
		program: "prettier", args: []string{"--stdin-filepath", "$FILE"}, resident: true,
	},
	{
		name: "deno", exts: ".js .jsx .mjs .cjs .ts .tsx .mts .cts .json .jsonc .md .css .html .yaml .yml", configs: "deno.json deno.jsonc",
		program: "deno", more: denoArgs, env: []string{"DENO_NO_UPDATE_CHECK=1"},
	},
	{name: "zig", exts: ".zig .zon", always: true, program: "zig", args: []string{"fmt", "--stdin"}, more: zigArgs},
	{
		name: "clang-format", exts: ".c .cc .cpp .cxx .c++ .h .hh .hpp .hxx .h++ .ino", configs: ".clang-format _clang-format",
		program: "clang-format", args: []string{"--assume-filename=$FILE"},
	},
	{
		name: "ktlint", exts: ".kt .kts", configs: ".editorconfig~ktlint", deps: "build.gradle~ktlint build.gradle.kts~ktlint",
		program: "ktlint", args: []string{"--format", "--stdin", "--log-level=none"}, ok: []int{1},
	},
	{
		name: "ruff", exts: pythonExts, configs: ruffMarks, deps: ruffDeps,
		program: "ruff", args: []string{"format", "--stdin-filename", "$FILE", "-"},
	},
	{
		name: "uv", exts: pythonExts, configs: ruffMarks, deps: ruffDeps, probe: []string{"format", "--help"}, probed: "ormat",
		program: "uv", args: []string{"--offline", "format", "--", "--stdin-filename", "$FILE", "-"}, env: []string{"UV_OFFLINE=1"},
	},
	{
		name: "black", exts: pythonExts, configs: "pyproject.toml~[tool.black", deps: "requirements.txt~black requirements-dev.txt~black Pipfile~black",
		program: "black", args: []string{"-q", "--stdin-filename", "$FILE", "-"},
	},
	{
		name: "yapf", exts: ".py", configs: ".style.yapf setup.cfg~[yapf] pyproject.toml~[tool.yapf",
		program: "yapf yapf3",
	},
	{
		name: "air", exts: ".r", configs: "air.toml .air.toml", probe: []string{"--help"}, probed: "R language",
		program: "air", args: []string{"format", "$FILE"}, inPlace: true,
	},
	{
		name: "standardrb", exts: rubyExts, configs: ".standard.yml", deps: "Gemfile~standard",
		code:    ".standard.yml~require .standard.yml~plugins .standard.yml~extend_config .standard.yml~<%",
		program: "standardrb", args: []string{"--fix", "--stderr", "--format", "quiet", "--stdin", "$FILE"}, ok: []int{1},
	},
	{
		// Only the cops of layout: the others change what the code says.
		name: "rubocop", exts: rubyExts, configs: ".rubocop.yml", deps: "Gemfile~rubocop",
		code:    ".rubocop.yml~require .rubocop.yml~plugins .rubocop.yml~inherit_ .rubocop.yml~<% .rubocop",
		program: "rubocop", args: []string{"--fix-layout", "--stderr", "--format", "quiet", "--stdin", "$FILE"}, ok: []int{1},
	},
	{name: "htmlbeautifier", exts: ".erb .html.erb", deps: "Gemfile~htmlbeautifier", program: "htmlbeautifier"},
	{name: "dart", exts: ".dart", always: true, roots: "pubspec.yaml", program: "dart", args: []string{"format", "$FILE"}, inPlace: true},
	{
		name: "ocamlformat", exts: ".ml .mli", configs: ".ocamlformat",
		program: "ocamlformat", args: []string{"--name=$FILE", "-"},
	},
	{name: "terraform", exts: ".tf .tfvars", always: true, program: "terraform", args: []string{"fmt", "-"}, env: []string{"CHECKPOINT_DISABLE=1"}},
	{
		name: "latexindent", exts: ".tex", configs: "latexindent.yaml latexindent.yml .latexindent.yaml .latexindent.yml localSettings.yaml",
		program: "latexindent", args: []string{"-g", os.DevNull, "-"},
	},
	{name: "gleam", exts: ".gleam", always: true, roots: "gleam.toml", program: "gleam", args: []string{"format", "--stdin"}},
	{
		name: "shfmt", exts: ".sh .bash", configs: ".editorconfig", inside: shfmt,
	},
	{name: "nixfmt", exts: ".nix", configs: "flake.nix~nixfmt treefmt.toml~nixfmt treefmt.nix~nixfmt", program: "nixfmt"},
	{
		// rust-toolchain.toml may name a toolchain inside the repository.
		name: "rustfmt", exts: ".rs", always: true, code: "rust-toolchain.toml~path rust-toolchain~path", roots: "Cargo.toml",
		program: "rustfmt", args: []string{"--emit", "stdout"}, more: rustfmtArgs, env: []string{"RUSTUP_AUTO_INSTALL=0"},
	},
	{
		name: "pint", exts: ".php", configs: "pint.json", deps: "composer.json@laravel/pint",
		program: "pint", args: []string{"$FILE"}, inPlace: true,
	},
	{
		name: "ormolu", exts: ".hs", configs: ".ormolu", deps: "flake.nix~ormolu",
		program: "ormolu", args: []string{"--stdin-input-file", "$FILE"},
	},
	{
		name: "cljfmt", exts: ".clj .cljs .cljc .edn", configs: "cljfmt.edn .cljfmt.edn cljfmt.clj .cljfmt.clj", deps: "deps.edn~cljfmt project.clj~cljfmt",
		code: "cljfmt.clj .cljfmt.clj", program: "cljfmt", args: []string{"fix", "--quiet", "-"},
	},
	{name: "dfmt", exts: ".d", configs: ".editorconfig~dfmt_", program: "dfmt"},
	{name: "taplo", exts: ".toml", configs: "taplo.toml .taplo.toml", program: "taplo", args: []string{"fmt", "-"}},
	{name: "stylua", exts: ".lua", configs: "stylua.toml .stylua.toml", program: "stylua", args: []string{"--stdin-filepath", "$FILE", "-"}},
}

const prettierCode = ".prettierrc.js .prettierrc.cjs .prettierrc.mjs .prettierrc.ts .prettierrc.cts .prettierrc.mts " +
	"prettier.config.js prettier.config.cjs prettier.config.mjs prettier.config.ts prettier.config.cts prettier.config.mts"

// BuiltIn reports whether there is a formatter of that name.
func BuiltIn(name string) bool {
	return slices.ContainsFunc(table[:], func(r row) bool { return r.name == name })
}
