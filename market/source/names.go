package source

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/lazyregexp"
)

var (
	drive    = lazyregexp.New(`^[A-Za-z]:`)
	reserved = lazyregexp.New(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|$)`)
	dotGit   = lazyregexp.New(`(?i)^(\.git|git~[0-9]+)$`)
)

// clean checks a path of an archive on any system's behalf, and returns it in
// the form that a tree has; "" is the package's own directory.
func clean(name string) (string, error) {
	switch {
	case !utf8.ValidString(name):
		return "", refuse("name-not-utf8", name, "the name is not UTF-8")
	case strings.ContainsAny(name, "\\\x00"):
		return "", refuse("name-backslash-or-nul", name, "a name may have neither a backslash nor a zero byte")
	case strings.ContainsFunc(name, escape.Hidden):
		return "", refuse("name-control-or-bidi", name, "the name has characters that can't be seen")
	case strings.HasPrefix(name, "/") || drive.MatchString(name):
		return "", refuse("absolute", name, "the name is absolute, and would be written outside of the package")
	}
	parts := slices.DeleteFunc(strings.Split(name, "/"), func(p string) bool { return p == "" || p == "." })
	for _, p := range parts {
		switch {
		case p == "..":
			return "", refuse("traversal", name, "the name leads out of the package")
		case dotGit.MatchString(strings.TrimRight(p, ". ")):
			return "", refuse("dot-git", name, "a repository in a package could run its hooks; leave .git out")
		case strings.HasSuffix(p, ".") || strings.HasSuffix(p, " "):
			return "", refuse("trailing-dot-or-space", name, "Windows drops a dot or space at the end of a name")
		case reserved.MatchString(p) || strings.Contains(p, ":"):
			return "", refuse("reserved-name", name, "%s is a device or stream on Windows", p)
		}
	}
	out := strings.Join(parts, "/")
	switch {
	case len(parts) > maxDepth:
		return "", refuse("too-deep", name, "more than %d directories deep", maxDepth)
	case len(out) > maxName:
		return "", refuse("name-too-long", name, "the path has more than %d bytes", maxName)
	}
	return out, nil
}

// fold is the same for two names that are one file on some system.
func fold(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(name)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
}

// printable makes a hostile name fit for a terminal.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || escape.Hidden(r) {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(name, "\ufffd"))
}
