package packages

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/whet-dev/whet/market/plugin"
)

// A Command is a prompt that a person called by its name.
type Command struct {
	Prompt string
	Agent  string // who works on it; "" for whoever would
	Model  string // PROVIDER/NAME; "" for the session's
}

// Command returns what a line such as "/review the parser" calls; ok is false if
// it calls no command of a package.
func (s Set) Command(line string) (c Command, ok bool) {
	name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
	name, ok = strings.CutPrefix(name, "/")
	if !ok || name == "" {
		return c, false
	}
	for _, p := range s {
		for _, k := range p.Plugin.Commands {
			if !slices.Contains(p.Commands[k.Name], name) {
				continue
			}
			c = Command{Prompt: p.Provenance() + ":\n\n" + fill(k, strings.TrimSpace(args)), Agent: k.Agent}
			if strings.Contains(k.Model, "/") { // any other name is another agent's
				c.Model = k.Model
			}
			return c, true
		}
	}
	return c, false
}

var (
	placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$ARGUMENTS|\$[1-9]`) })
	word        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"([^"]*)"|'([^']*)'|\S+`) })
)

// fill puts the arguments where the command wants them: all at $ARGUMENTS, one
// at $1. A command that wants none has them at its end. What is put in is not
// looked at again.
func fill(k plugin.Command, args string) string {
	if !placeholder().MatchString(k.Body) {
		return strings.TrimSpace(k.Body + "\n\n" + args)
	}
	words := word().FindAllString(args, -1)
	return placeholder().ReplaceAllStringFunc(k.Body, func(m string) string {
		if m == "$ARGUMENTS" {
			return args
		}
		if i := int(m[1] - '1'); i < len(words) {
			return strings.Trim(words[i], `"'`)
		}
		return ""
	})
}
