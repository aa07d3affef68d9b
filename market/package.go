package market

import (
	"github.com/whet-dev/whet/market/plugin"
)

// Where says for which project, and what else there is that packages meet.
type Where struct {
	Dir      string   // the project, absolute; "" for none
	Worktree string   // the root of the version-controlled tree around it; may be empty
	Environ  []string // as of os.Environ

	// Has reports whether there is an agent, a skill, a command, an MCP server or
	// a tool of that name that comes from no package: kinds "agent", "skill",
	// "command", "mcp", "tool". nil means that there are none.
	Has func(kind, name string) bool
}

// A Package is one that is in force. What of it isn't admitted is left out.
type Package struct {
	ID      string // publisher/name
	Version string
	Tree    string // digest of its files
	Root    string // directory of its files, absolute; read only
	Data    string // its own directory; whoever starts a program of it creates it

	// Plugin holds what is admitted: no agent of a name that is taken, and
	// neither servers nor hooks nor formatters unless Trusted.
	Plugin *plugin.Plugin
	// Trusted says that a person has agreed to the package's executable parts as
	// they are now.
	Trusted bool
	// Names are those under which a skill or a command of the package is reached:
	// the first is the bare one, if nothing else lays claim to it.
	Skills, Commands map[string][]string
	// Servers is the id of each MCP server by its name in the package.
	Servers map[string]string
}

// Provenance is the line under which any text of the package enters a prompt.
func (p Package) Provenance() string {
	return "from package " + p.ID + "@" + p.Version + ", third-party text"
}

// A Diagnostic is something about a package that a person should know.
type Diagnostic struct {
	Scope string `json:"scope"` // disk or live
	ID    string `json:"id,omitempty"`
	Code  string `json:"code"` // missing, corrupt, collision, missing-required-dependency, ...
	Text  string `json:"text"`
}

// commandFile is where a package keeps a command.
func commandFile(name string) string { return plugin.Namespace + "/commands/" + name + ".md" }
