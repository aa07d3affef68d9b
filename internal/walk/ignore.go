package walk

import (
	"bytes"
	"strings"
)

// verdict is what the rules say of a path.
type verdict int8

const (
	silent  verdict = iota // no rule matches
	ignored                // left out
	kept                   // a rule with ! takes it back, even if hidden
)

type rule struct {
	glob    *Glob
	negated bool
	dirOnly bool
}

// rules are the lines of one ignore file, matched against paths relative to
// the directory that it governs.
type rules []rule

// parseRules reads an ignore file. A line that is no valid pattern is skipped,
// as git and ripgrep do.
func parseRules(text []byte) rules {
	var out rules
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for line := range bytes.Lines(text) {
		if r, ok := parseRule(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")); ok {
			out = append(out, r)
		}
	}
	return out
}

func parseRule(line string) (r rule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimTrailing(line)
	if line == "" {
		return r, false
	}
	anchored := false
	if strings.HasPrefix(line, `\!`) || strings.HasPrefix(line, `\#`) {
		line = line[1:]
	} else {
		if rest, found := strings.CutPrefix(line, "!"); found {
			r.negated, line = true, rest
		}
		if rest, found := strings.CutPrefix(line, "/"); found {
			anchored, line = true, rest
		}
	}
	if rest, found := strings.CutSuffix(line, "/"); found {
		r.dirOnly = true
		line = strings.TrimSuffix(rest, `\`) // an escaped slash is a slash
	}
	if line == "" && r.negated {
		line = "**" // ripgrep takes a lone ! for everything
	}
	if !anchored && !strings.Contains(line, "/") {
		line = "**/" + strings.TrimPrefix(line, "**/")
	}
	if strings.HasSuffix(line, "/**") {
		line += "/*" // what is in the directory, not the directory
	}
	glob, err := compileGlob(line, globMode{lenient: true})
	r.glob = glob
	return r, err == nil
}

// trimTrailing removes white space from the end unless it is escaped.
func trimTrailing(line string) string {
	if strings.HasSuffix(line, `\ `) {
		return line
	}
	return strings.TrimRight(line, " \t\n\v\f\r")
}

// match returns the verdict of the last rule that matches.
func (rs rules) match(path, base string, dir bool) verdict {
	for i := len(rs) - 1; i >= 0; i-- {
		r := &rs[i]
		if r.dirOnly && !dir || !r.glob.match(path, base) {
			continue
		}
		if r.negated {
			return kept
		}
		return ignored
	}
	return silent
}
