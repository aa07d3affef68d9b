// Package config reads settings into a struct of its caller's: from several
// layers, later ones over earlier ones. It decides nothing; it reads, checks,
// and says where each value came from. The struct's tags are those of whet.New.
package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/internal/trust"
)

// A Problem is something wrong in a layer. The value concerned is left out and
// the next lower layer's holds; nothing else is lost.
type Problem struct {
	Origin
	Text      string
	Syntax    bool // the whole layer was left out
	Untrusted bool // it is right, but a person has to agree first
}

func (p Problem) String() string { return p.Origin.String() + ": " + p.Text }

// An Origin is where a value was set.
type Origin struct {
	Source    string // file, or name of an environment variable
	Line, Col int    // 1-based; 0 in an environment variable
}

func (o Origin) String() string {
	if o.Line == 0 {
		return o.Source
	}
	return fmt.Sprintf("%s:%d:%d", tilde(o.Source), o.Line, o.Col)
}

func tilde(path string) string {
	home, err := os.UserHomeDir()
	if err == nil && strings.HasPrefix(path, home+string(filepath.Separator)) {
		return "~" + path[len(home):]
	}
	return path
}

// Loaded is the outcome of reading all layers into a T.
type Loaded[T any] struct {
	Config T
	Report
}

// A Report says how the reading went.
type Report struct {
	Problems []Problem
	Origins  map[string]Origin // of each value set, by its dotted path
	Sources  []string          // the layers there are, lowest first
	Inert    bool              // WHET_DISABLE: every face must do nothing
	Risky    []Risky           // what runs programs in the project's files, trusted or not
}

// Risky are the settings of one of the project's files that run programs.
type Risky struct {
	File     string
	Settings []string // path=value
	Digest   string
}

// maxFile bounds a configuration file: a repository may bring anything.
const maxFile = 256 << 10

// Load reads the layers, lowest first: the user's file; the file of the
// project, in each directory from worktree down to dir; the file that
// $WHET_CONFIG names; the text in $WHET_CONFIG_CONTENT; and variables like
// WHET_LOOPGUARD__WARNAT=4. $WHET_CONFIG_DIR moves the user's file, and
// $WHET_NO_PROJECT_CONFIG=1 leaves the project's files out. It never fails: what
// can't be read is a Problem.
func Load[T any](dir, worktree string, environ []string) *Loaded[T] {
	out := &Loaded[T]{}
	l := &loader{schema: sync.OnceValue(whet.SchemaOf[T]), config: &out.Config, env: map[string]string{}}
	l.read(dir, worktree, environ)
	out.Report = l.Report
	return out
}

func (l *loader) read(dir, worktree string, environ []string) {
	l.worktree = cmp.Or(worktree, dir)
	l.Origins = map[string]Origin{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			l.env[k] = v
		}
	}
	if truthy(l.env["WHET_DISABLE"]) {
		l.Inert = true
		return
	}
	if d := UserDir(func(k string) string { return l.env[k] }); d != "" {
		l.directory(d, false)
	}
	if !truthy(l.env["WHET_NO_PROJECT_CONFIG"]) {
		for _, d := range downTo(dir, worktree) {
			l.directory(filepath.Join(d, ".whet"), true)
		}
	}
	if f := l.env["WHET_CONFIG"]; f != "" {
		l.file(f, false, true)
	}
	if text := l.env["WHET_CONFIG_CONTENT"]; text != "" {
		l.layer("WHET_CONFIG_CONTENT", []byte(text), false)
	}
	l.variables()
}

func truthy(s string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(s))
}

type loader struct {
	Report
	schema   func() *whet.Schema // made if there is anything to check
	config   any
	env      map[string]string
	worktree string
}

// UserDir is where the person's own file is, or "" if there is no place for one.
func UserDir(env func(string) string) string {
	if d := env("WHET_CONFIG_DIR"); d != "" {
		return d
	}
	if d := env("XDG_CONFIG_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "whet")
	}
	if runtime.GOOS == "windows" {
		if d := env("AppData"); d != "" {
			return filepath.Join(d, "whet")
		}
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".config", "whet")
	}
	return ""
}

// downTo lists the directories from top down to dir; just dir if it isn't below top.
func downTo(dir, top string) []string {
	if dir == "" {
		return nil
	}
	dirs := []string{dir}
	for d := dir; top != "" && d != top; {
		up := filepath.Dir(d)
		if up == d {
			return []string{dir}
		}
		d = up
		dirs = append(dirs, d)
	}
	slices.Reverse(dirs)
	return dirs
}

// directory reads whet.jsonc or whet.json of d.
func (l *loader) directory(d string, project bool) {
	jsonc, plain := filepath.Join(d, "whet.jsonc"), filepath.Join(d, "whet.json")
	if !l.file(jsonc, project, false) {
		l.file(plain, project, false)
	} else if _, err := os.Stat(plain); err == nil {
		l.problem(Origin{Source: plain}, "left out, because whet.jsonc stands beside it")
	}
}

func (l *loader) file(path string, project, must bool) bool {
	b, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return false
	}
	if err != nil {
		l.Problems = append(l.Problems, Problem{Origin: Origin{Source: tilde(path)}, Text: err.Error(), Syntax: true})
		return true
	}
	l.layer(path, b, project)
	return true
}

func readFile(path string) ([]byte, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, plainfile.Cause(err) // the problem names the file by itself
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("larger than %d KiB", maxFile>>10)
	}
	return b, err
}

// layer takes what is right in text.
func (l *loader) layer(source string, text []byte, project bool) {
	l.Sources = append(l.Sources, source)
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n') // a comment may end the file
	}
	v, err := hujson.Parse(text)
	if err != nil {
		l.Problems = append(l.Problems, syntaxProblem(source, err))
		return
	}
	c := checker{l: l, source: source, text: text, project: project}
	if settings := risky(v, l.schema(), ""); project && settings != nil {
		r := Risky{source, settings, trust.Sum([]byte(strings.Join(settings, "\n")))}
		l.Risky = append(l.Risky, r)
		p, _ := trust.Of(l.worktree)
		c.trusted = p.Has(trust.Name(l.worktree, source), r.Digest)
	}
	from := len(l.Problems)
	if c.object(&v, l.schema(), "") {
		l.take(v, source)
	}
	slices.SortStableFunc(l.Problems[from:], func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) })
}

// take sets what is in v: objects merge, lists and plain values replace.
func (l *loader) take(v hujson.Value, source string) {
	v.Standardize()
	if err := json.Unmarshal(v.Pack(), l.config); err != nil {
		l.problem(Origin{Source: source}, "left out in part: %v", err)
	}
}

func (l *loader) problem(at Origin, format string, a ...any) {
	l.Problems = append(l.Problems, Problem{Origin: at, Text: fmt.Sprintf(format, a...)})
}

// syntaxProblem takes the place out of a parse error, "hujson: line 1, column 2: ...".
func syntaxProblem(source string, err error) Problem {
	p := Problem{Origin: Origin{Source: source}, Text: err.Error(), Syntax: true}
	if n, _ := fmt.Sscanf(p.Text, "hujson: line %d, column %d:", &p.Line, &p.Col); n == 2 {
		_, p.Text, _ = strings.Cut(strings.TrimPrefix(p.Text, "hujson: "), ": ")
	}
	p.Text = "syntax error, the file is left out: " + strings.ReplaceAll(p.Text, "unexpected EOF", "the file ends in the middle of it")
	return p
}

// variables reads WHET_<SECTION>__<KEY>, a JSON value or a bare string.
func (l *loader) variables() {
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		path, ok := strings.CutPrefix(name, "WHET_")
		if !ok || !strings.Contains(path, "__") {
			continue
		}
		keys, s := l.keys(strings.Split(path, "__"))
		if s == nil {
			l.problem(Origin{Source: name}, "no such setting")
			continue
		}
		value := []byte(l.env[name])
		if s.Type == "string" || !json.Valid(value) {
			value, _ = json.Marshal(l.env[name]) // a string always marshals
		}
		for _, k := range slices.Backward(keys) {
			value = fmt.Appendf(nil, "{%q:%s}", k, value)
		}
		v, err := hujson.Parse(value)
		if err != nil {
			l.problem(Origin{Source: name}, "%v", err)
			continue
		}
		c := checker{l: l, source: name}
		if c.object(&v, l.schema(), "") {
			l.take(v, name)
		}
	}
}

// keys finds the setting that the upper-case names mean, and its schema.
func (l *loader) keys(names []string) (keys []string, s *whet.Schema) {
	s = l.schema()
	for _, n := range names {
		i := slices.IndexFunc(s.Properties, func(p whet.Property) bool { return strings.EqualFold(p.Name, n) })
		if i < 0 {
			return nil, nil
		}
		keys, s = append(keys, s.Properties[i].Name), s.Properties[i].Schema
	}
	return keys, s
}
