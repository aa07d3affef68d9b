package install

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// A Command is a program as a host's configuration names it: words, or one line
// for a shell.
type Command struct {
	File  string // the configuration
	Words []string
	Shell string
}

// commandOf reads an entry of a hook or a server.
func commandOf(v any) (c Command, ok bool) {
	m, _ := v.(map[string]any)
	line, _ := m["command"].(string)
	if line == "" {
		line, _ = m["bash"].(string)
	}
	args, has := m["args"].([]any)
	if !has {
		return Command{Shell: line}, line != ""
	}
	c.Words = []string{line}
	for _, a := range args {
		s, _ := a.(string)
		c.Words = append(c.Words, s)
	}
	return c, line != ""
}

// parts splits the command into the program and what it is told. A line that is
// more than one program and its words has no parts.
func (c Command) parts() (program, told string) {
	if len(c.Words) > 0 {
		return c.Words[0], strings.Join(c.Words[1:], " ")
	}
	i := strings.LastIndex(c.Shell, " hook ")
	if i < 0 || !plainWord().MatchString(c.Shell[i+len(" hook "):]) {
		return c.Shell, ""
	}
	word := c.Shell[:i]
	for _, quote := range []string{`"`, `'`} {
		if bare, ok := strings.CutPrefix(word, quote); ok {
			bare, ok = strings.CutSuffix(bare, quote)
			bare = strings.ReplaceAll(bare, `'\''`, "'")
			if !ok || quote == `"` && strings.Contains(bare, quote) {
				return c.Shell, ""
			}
			return bare, c.Shell[i+1:]
		}
	}
	if strings.ContainsAny(word, " \t|&;<>") {
		return c.Shell, ""
	}
	return word, c.Shell[i+1:]
}

// Program returns the path of the program.
func (c Command) Program() string {
	p, _ := c.parts()
	return p
}

// Hook returns the host that the command answers hooks of; "" if it serves MCP.
func (c Command) Hook() string {
	_, told := c.parts()
	host, _ := strings.CutPrefix(told, "hook ")
	if host == told {
		return ""
	}
	return host
}

func (c Command) isWhet() bool {
	_, told := c.parts()
	return c.isProgram() && (told == "mcp" || strings.HasPrefix(told, "hook "))
}

// isProgram reports whether the program is whet or its whet-hook, wherever it is.
func (c Command) isProgram() bool {
	p, _ := c.parts()
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(p, `\`, "/")), ".exe")
	return name == "whet" || name == "whet-hook"
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`) })

// quoteShell quotes a word for the shells that run hooks.
func quoteShell(goos, word string) string {
	switch {
	case plainWord().MatchString(word):
		return word
	case goos != "windows" && strings.ContainsAny(word, "\"$`\\!"):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return `"` + word + `"`
}
