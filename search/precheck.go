package search

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/whet-dev/whet/internal/escape"
	"github.com/whet-dev/whet/internal/pathflavor"
)

// A pathCheck is a search path as a model gave it, and who will read it.
type pathCheck struct {
	tool   string // "grep" or "glob"
	host   string // "opencode", "opencode2", ...; "" if unknown
	dir    string // the project directory
	roots  []string
	raw    string
	flavor pathflavor.Flavor
	home   string // for hosts that expand ~; "" if unknown
}

// candidates returns what the host may look at, all that it could if it isn't
// known which. The host joins again what it is given, so each must equal the
// host's own answer: OpenCode v1 joins for grep and resolves for glob, v2 and
// everyone else resolve.
func (c pathCheck) candidates() []string {
	raw := c.raw
	if c.host == "opencode2" {
		if c.tool == "glob" && (raw == "undefined" || raw == "null") {
			return nil // v2 takes these words for an argument left out
		}
		raw = expandShell(raw, c.flavor, c.home)
	}
	if c.flavor.IsAbs(raw) {
		return []string{raw}
	}
	join, resolve := c.flavor.Join(c.dir, raw), c.flavor.Resolve(c.dir, raw)
	switch {
	case c.host == "opencode" && c.tool == "grep":
		return []string{join}
	case c.host != "" || join == resolve:
		return []string{resolve}
	}
	return []string{resolve, join}
}

// expandShell maps the home directory's ~ and, on Windows, the paths that a
// POSIX shell there uses for drives, as OpenCode v2 does.
func expandShell(p string, f pathflavor.Flavor, home string) string {
	if home != "" && (p == "~" || strings.HasPrefix(p, "~/") || f.Windows && strings.HasPrefix(p, `~\`)) {
		return home + p[1:]
	}
	if !f.Windows {
		return p
	}
	for _, mount := range []string{"/cygdrive/", "/mnt/", "/"} {
		rest, ok := strings.CutPrefix(p, mount)
		if !ok || rest == "" {
			continue
		}
		drive, tail, _ := strings.Cut(rest, "/")
		drive = strings.TrimSuffix(drive, ":")
		if len(drive) == 1 && (drive[0]|0x20) >= 'a' && (drive[0]|0x20) <= 'z' {
			return strings.ToUpper(drive) + `:\` + strings.ReplaceAll(tail, "/", `\`)
		}
	}
	return p
}

// check returns what to tell the model if no candidate can be searched, or ""
// to let the call go on. The error is trouble of another kind, which the
// search itself will meet and report.
func (c pathCheck) check() (refusal string, trouble error) {
	for _, p := range c.candidates() {
		text, err := c.checkOne(p)
		if text == "" {
			return "", err
		}
		if refusal == "" {
			refusal = text
		}
	}
	return refusal, nil
}

func (c pathCheck) checkOne(p string) (string, error) {
	info, err := os.Stat(p)
	switch {
	case err == nil && c.tool == "glob" && !info.IsDir():
		if !inside(c.roots, p) {
			return "", nil
		}
		return c.say("Search path is a file: %s%s. glob lists what is in a directory, so it was stopped before it ran. Give its directory %s, or use grep or read for the file itself.",
			p, filepath.Dir(filepath.Clean(p))), nil
	case err == nil:
		return "", nil
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return "", err
	case !inside(c.roots, p):
		return outside(c.tool, p, c.raw, c.roots), nil
	case errors.Is(err, syscall.ENOTDIR):
		return c.say("Search path is invalid: %s%s: %s is not a directory (ENOTDIR). "+c.tool+" was stopped before it ran; nothing was searched. Give that file, or a directory.",
			p, notDirectory(p)), nil
	}
	text := c.say("Search path does not exist: %s%s. "+c.tool+" was stopped before it ran; nothing was searched. The nearest directory that exists is %s", p, nearest(p))
	if names := siblings(c.roots, p); len(names) > 0 {
		return text + "; similar names in it: " + strings.Join(names, ", ") + ". Use one of them, or leave path out to search the whole project.", nil
	}
	return text + ". List it, or leave path out to search the whole project.", nil
}

func (c pathCheck) say(format, p, other string) string {
	from := ""
	if p != c.raw {
		from = fmt.Sprintf(" (from %s)", quote(c.raw))
	}
	return fmt.Sprintf(format, escape.Text(p), from, escape.Text(other))
}

// outside is the one answer for every path outside the roots. It must not
// tell whether the path exists.
func outside(tool, p, raw string, roots []string) string {
	from := ""
	if p != raw {
		from = fmt.Sprintf(" (from %s)", quote(raw))
	}
	return fmt.Sprintf("Search path is outside the project: %s%s. %s was stopped before it ran and did not look there. Give a path inside %s.",
		escape.Text(p), from, tool, escape.Text(strings.Join(roots, " or ")))
}

// notDirectory returns the first component of p that exists and isn't a
// directory.
func notDirectory(p string) string {
	p = strings.TrimRight(p, `/\`)
	for {
		parent := filepath.Dir(p)
		info, err := os.Stat(p)
		if err == nil && !info.IsDir() || parent == p {
			return p
		}
		p = parent
	}
}

// nearest returns the deepest directory above p that exists.
func nearest(p string) string {
	for {
		parent := filepath.Dir(filepath.Clean(p))
		if info, err := os.Stat(parent); parent == p || err == nil && info.IsDir() {
			return parent
		}
		p = parent
	}
}
