package install

import (
	"cmp"
	"path/filepath"
	"strings"
)

// An Env is the machine that whet is installed on.
type Env struct {
	GOOS     string
	Home     string
	Exe      string // whet's own path, absolute and the same after an upgrade
	HookExe  string // that of the program that answers hooks; "" means Exe
	Getenv   func(string) string
	LookPath func(string) (string, error)
	Guests   []Guest // what hosts get beside whet's own server
}

func (e Env) home(parts ...string) string {
	return filepath.Join(append([]string{e.Home}, parts...)...)
}

// config is below the directory for configuration, which these hosts look for
// in the same place on every system.
func (e Env) config(parts ...string) string {
	return filepath.Join(append([]string{cmp.Or(e.Getenv("XDG_CONFIG_HOME"), e.home(".config"))}, parts...)...)
}

func (e Env) claude() string { return cmp.Or(e.Getenv("CLAUDE_CONFIG_DIR"), e.home(".claude")) }

func (e Env) claudeState() string {
	return filepath.Join(cmp.Or(e.Getenv("CLAUDE_CONFIG_DIR"), e.Home), ".claude.json")
}

func (e Env) codex() string { return cmp.Or(e.Getenv("CODEX_HOME"), e.home(".codex")) }

func (e Env) vscode() string {
	switch e.GOOS {
	case "darwin":
		return e.home("Library", "Application Support", "Code", "User")
	case "windows":
		return filepath.Join(cmp.Or(e.Getenv("APPDATA"), e.home("AppData", "Roaming")), "Code", "User")
	}
	return e.config("Code", "User")
}

func (e Env) exe() string { return e.slashes(e.Exe) }

func (e Env) hookExe() string { return e.slashes(cmp.Or(e.HookExe, e.Exe)) }

// slashes turns a path's separators forward: a shell on Windows eats the others.
func (e Env) slashes(path string) string {
	if e.GOOS == "windows" {
		return strings.ReplaceAll(path, `\`, "/")
	}
	return path
}

// shell is the hook command for hosts that give it to a shell.
func (e Env) shell(host string) string { return quoteShell(e.GOOS, e.hookExe()) + " hook " + host }
