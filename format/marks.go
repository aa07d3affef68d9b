package format

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet/internal/plainfile"
)

// A site is where a file lies: the directories that may hold its
// configuration.
type site struct {
	path string   // absolute, without links
	top  string   // the project's outermost directory
	dirs []string // from the file's own directory up to top
	seen map[string]string
}

func newSite(path, top string) *site {
	s := &site{path: path, top: top, seen: map[string]string{}}
	for d := filepath.Dir(path); ; d = filepath.Dir(d) {
		s.dirs = append(s.dirs, d)
		if d == top || d == filepath.Dir(d) {
			return s
		}
	}
}

// maxMark is how much of a configuration file is read, in bytes.
const maxMark = 1 << 20

// content returns a small file's text; "" if there is none.
func (s *site) content(path string) string {
	if text, ok := s.seen[path]; ok {
		return text
	}
	s.seen[path] = ""
	f, err := plainfile.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxMark)) // what can't be read has no mark
	s.seen[path] = string(b)
	return s.seen[path]
}

// marked returns the files of dir that bear one of the marks.
func (s *site) marked(dir, marks string) (files []string) {
	for m := range strings.FieldsSeq(marks) {
		name, ask := m, byte(0)
		if i := strings.IndexAny(m[1:], "~!#@"); i >= 0 {
			name, ask, m = m[:i+1], m[i+1], m[i+2:]
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		ok := ask == 0
		switch ask {
		case '~':
			ok = strings.Contains(s.content(path), m)
		case '!':
			ok = !strings.Contains(s.content(path), m)
		case '#':
			ok = member([]byte(s.content(path)), strings.Split(m, "/"))
		case '@':
			ok = depends(s.content(path), m)
		}
		if ok {
			files = append(files, path)
		}
	}
	return files
}

// nearest returns the nearest directory that bears one of the marks; "" if none does.
func (s *site) nearest(marks string) string {
	for _, d := range s.dirs {
		if s.marked(d, marks) != nil {
			return d
		}
	}
	return ""
}

// all returns every file that bears one of the marks.
func (s *site) all(marks string) (files []string) {
	if marks == "" {
		return nil
	}
	for _, d := range s.dirs {
		files = append(files, s.marked(d, marks)...)
	}
	return files
}

// member reports whether the JSON has the member at path. A string on the way
// names a module, and a module may have anything.
func member(text []byte, path []string) bool {
	if len(path) == 0 {
		return true
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil {
		return len(text) > 0 && text[0] == '"'
	}
	sub, ok := m[path[0]]
	return ok && member(sub, path[1:])
}

// depends reports whether the package.json or composer.json needs the package.
func depends(text, name string) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &m) != nil {
		return false
	}
	for _, part := range []string{"dependencies", "devDependencies", "require", "require-dev"} {
		var deps map[string]json.RawMessage
		if json.Unmarshal(m[part], &deps) == nil && deps[name] != nil {
			return true
		}
	}
	return false
}

// program finds an executable of one of the names: the project's own first,
// nearest first, then by PATH. "" if there is none.
func (s *site) program(names string) string {
	for name := range strings.FieldsSeq(names) {
		for _, d := range s.dirs {
			for _, bin := range []string{"node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin"} {
				if p := filepath.Join(d, bin, name); executable(p) {
					return p
				}
			}
		}
	}
	for name := range strings.FieldsSeq(names) {
		for _, d := range filepath.SplitList(os.Getenv("PATH")) {
			if p := filepath.Join(d, name); filepath.IsAbs(d) && executable(p) {
				return p
			}
		}
	}
	return ""
}

// inside reports whether path, or what it links to, lies in the project.
func (s *site) inside(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return below(s.top, path) || err == nil && below(s.top, real)
}

func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
