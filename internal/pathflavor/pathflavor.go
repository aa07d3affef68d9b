// Package pathflavor joins and resolves paths as a host process would, for the
// path rules of either family of systems, wherever it runs itself.
//
// It exists because hosts are mostly Node programs, and Node's rules differ
// from path/filepath's on Windows: `\x` is absolute there and `C:x` is joined
// as a name. The functions are pure: they look at no file.
package pathflavor

import (
	"runtime"
	"strings"
)

// A Flavor is one family's path rules.
type Flavor struct {
	Windows bool
	// CwdOf returns the current directory of a drive such as "D:", or "" if
	// there is none. Only Windows asks; nil answers "".
	CwdOf func(drive string) string
}

// Posix is the flavor of every system but Windows.
func Posix() Flavor { return Flavor{} }

// Windows is the flavor of Windows.
func Windows(cwdOf func(drive string) string) Flavor { return Flavor{Windows: true, CwdOf: cwdOf} }

// Native is the flavor of the system that this process runs on.
func Native(cwdOf func(drive string) string) Flavor {
	if runtime.GOOS == "windows" {
		return Windows(cwdOf)
	}
	return Posix()
}

// IsAbs tells whether path stands alone: it begins with a separator, or on
// Windows with a drive and a separator.
func (f Flavor) IsAbs(path string) bool {
	_, rooted, _ := f.split(path)
	return rooted
}

// Join appends path to dir as text and normalizes the result. A separator at
// the end stays.
func (f Flavor) Join(dir, path string) string {
	switch {
	case path == "":
		path = dir
	case dir != "":
		path = dir + f.sep() + path
	}
	device, rooted, tail := f.split(path)
	out := strings.Join(f.clean(tail, rooted), f.sep())
	if out == "" && !rooted {
		out = "."
	}
	if out != "" && tail != "" && f.isSep(tail[len(tail)-1]) {
		out += f.sep()
	}
	if rooted {
		out = f.sep() + out
	}
	return device + out
}

// Resolve finds what path means for a process that stands in dir, which is
// absolute. No separator stays at the end.
func (f Flavor) Resolve(dir, path string) string {
	device, rooted, tail := f.split(path)
	for _, base := range []string{dir, f.cwd(device)} {
		if rooted && device != "" || !f.Windows && rooted {
			break
		}
		d, r, t := f.split(base)
		if device != "" && d != "" && !strings.EqualFold(d, device) {
			continue
		}
		if device == "" {
			device = d
		}
		if !rooted {
			tail, rooted = t+f.sep()+tail, r
		}
	}
	out := strings.Join(f.clean(tail, true), f.sep())
	return device + f.sep() + out
}

func (f Flavor) cwd(device string) string {
	if !f.Windows || device == "" || f.CwdOf == nil {
		return device + f.sep()
	}
	if cwd := f.CwdOf(device); cwd != "" {
		return cwd
	}
	return device + f.sep()
}

func (f Flavor) sep() string {
	if f.Windows {
		return `\`
	}
	return "/"
}

func (f Flavor) isSep(c byte) bool { return c == '/' || f.Windows && c == '\\' }

// split cuts path into its device ("C:" or `\\server\share`), whether a
// separator follows, and the rest after that separator.
func (f Flavor) split(path string) (device string, rooted bool, tail string) {
	if f.Windows && len(path) >= 2 && path[1] == ':' && isLetter(path[0]) {
		device, path = path[:2], path[2:]
	} else if share, rest := f.share(path); share != "" {
		return share, true, strings.TrimLeft(rest, `\/`)
	}
	if path != "" && f.isSep(path[0]) {
		return device, true, path[1:]
	}
	return device, false, path
}

// share cuts a network share (two separators, server, separators, share name)
// off the front of path.
func (f Flavor) share(path string) (device, rest string) {
	if !f.Windows || len(path) < 3 || !f.isSep(path[0]) || !f.isSep(path[1]) || f.isSep(path[2]) {
		return "", ""
	}
	server := f.nextSep(path, 2)
	name := server
	for name < len(path) && f.isSep(path[name]) {
		name++
	}
	if name == len(path) {
		return "", ""
	}
	end := f.nextSep(path, name)
	return `\\` + path[2:server] + `\` + path[name:end], path[end:]
}

func (f Flavor) nextSep(path string, i int) int {
	for i < len(path) && !f.isSep(path[i]) {
		i++
	}
	return i
}

// clean splits tail into its names without ".", "" and what ".." undoes.
func (f Flavor) clean(tail string, rooted bool) []string {
	var out []string
	for name := range strings.FieldsFuncSeq(tail, func(r rune) bool { return r < 0x80 && f.isSep(byte(r)) }) {
		switch {
		case name == ".":
		case name != "..":
			out = append(out, name)
		case len(out) > 0 && out[len(out)-1] != "..":
			out = out[:len(out)-1]
		case !rooted:
			out = append(out, name)
		}
	}
	return out
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
