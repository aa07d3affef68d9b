// Package plugin reads what a marketplace package brings along. A package is a
// directory that is a valid Agent Plugin 1.0.0; what that format has no place
// for (agents, commands, instructions, hooks, formatters) is in the directory of
// our namespace. Nothing here runs or fetches anything.
package plugin

// Namespace is whet's directory in a package and its key in the manifest's
// extensions, a reversed domain as the Agent Plugin format wants it.
const Namespace = "dev.whet"

// A Plugin is all that a package brings along.
type Plugin struct {
	ID          string // publisher/name
	Version     string // exact semver; 0.0.0+HEX of the tree if the manifest has none
	Versioned   bool   // the manifest has a version
	Name        string // the manifest's
	Title       string
	Description string // one line
	Author      string
	License     string
	Homepage    string

	Agents       []Agent
	Skills       []Skill
	Commands     []Command
	Instructions []Text
	Servers      []Server
	Hooks        []Hook
	Formatters   []Formatter

	Requires Requires
	Optional Requires
	Settings []Setting
	Scripts  []string // files with the exec bit
	Modules  []string // plugins of other programs, which whet keeps and never runs
	Notes    []Note   // what was left out or is doubtful, and why
}

// A Text is a Markdown file of the package.
type Text struct {
	Name string // as a person calls it
	File string // in the tree
	Body string // without its front matter
}

// An Agent is a specialist: its file is read by agent.Custom's rules.
type Agent struct {
	Text
	Description string
	Extends     string // a built-in agent whose tools and lane it takes over
	Lane        string // for routing: what it is for
	When, Avoid []string
}

// A Skill is a SKILL.md and the files beside it.
type Skill struct {
	Text
	Description string
}

// A Command is a prompt that a person calls by name. The arguments stand where
// it has $ARGUMENTS, and after it if it has none.
type Command struct {
	Text
	Description string
	Hint        string // what its arguments are
	Agent       string
	Model       string
}

// A Server is an MCP server. ${PLUGIN_ROOT} and ${PLUGIN_DATA} in Args, the
// values of Env and Dir, and ${user_config.NAME} of a setting there and in URL
// and Headers, are expanded when it is started. A Command that begins with ./
// is a file of the package.
type Server struct {
	Name    string
	Type    string // stdio, streamable-http or sse
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
	URL     string
	Headers map[string]string
}

// A Hook is a command that runs on an event: pre_tool, post_tool,
// session_start, stop or user_prompt. ${PLUGIN_ROOT} and ${PLUGIN_DATA} are
// expanded in Args; to a shell they are variables of the environment.
type Hook struct {
	Event   string
	Matcher string   // regular expression over whole tool names, or how a session started; empty is every one
	Command string   // for a shell, in the project's directory; a program if there are Args
	Args    []string // nil is a Command for a shell
	Timeout int      // seconds; 0 is the default
	Dialect string   // the host whose events and answers it speaks: claude-code, codex, gemini or cursor; empty is whet's own
}

// A Formatter is one entry of formatters.json, in the shape of the
// configuration's formatter key.
type Formatter struct {
	Name  string
	Value []byte // JSON
}

// Requires names capabilities.
type Requires struct {
	Whet   string // semver range
	Skills []string
	MCP    []string
	Tools  []string
}

// A Setting is a value that a person gives, such as a key.
type Setting struct {
	Name      string
	Title     string
	Type      string // string, number, boolean, directory or file
	Sensitive bool
	Required  bool
	Default   string
	Env       string // environment variable that holds it; empty is none
}

// A Note says what was left out, changed or is doubtful.
type Note struct {
	Code string // a stable word, such as unsupported-component
	File string
	Text string
}
