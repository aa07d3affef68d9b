package plugin

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/lazyregexp"
)

// Servers is the portable file of MCP servers, and OwnServers whet's own: it
// has the same shape, and holds the servers that need a setting, which the
// portable format has no way to say. There ${user_config.NAME} may be used, and
// "platforms" changes a server for darwin, linux or win32.
const (
	Servers    = "mcp.json"
	OwnServers = Namespace + "/mcp.json"
)

// servers reads both files. One that isn't right turns off its own servers
// only, and a server that isn't right only itself.
func (p *parser) servers(version string) {
	for _, file := range []string{Servers, OwnServers} {
		f, ok := p.t.Get(file)
		if !ok {
			continue
		}
		if err := p.serverFile(f.Name, f.Data, version); err != nil {
			p.noteErr("invalid-mcp", "every server", err)
		}
	}
	slices.SortStableFunc(p.p.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
}

func (p *parser) serverFile(file string, data []byte, version string) error {
	root, err := parseJSON(file, data)
	if err != nil {
		return err
	}
	own := file == OwnServers
	m, _ := root.object()
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key != "$schema" && key != "mcpServers" {
			field, _ := root.get(key)
			return field.fail("the format has no such field")
		}
	}
	if id, _ := root.str("$schema"); !own && schemaVersion("mcp", id) != version {
		return root.fail("$schema: want %q, the version of %s", SchemaID("mcp", version), Manifest)
	}
	list, ok := root.get("mcpServers")
	if !ok {
		return root.fail("mcpServers is missing")
	}
	servers, err := list.object()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		entry, _ := list.get(name)
		s, err := p.server(name, entry, own)
		if err != nil {
			p.noteErr("invalid-server", "a server", err)
			continue
		}
		p.p.Servers = append(p.p.Servers, s)
	}
	return nil
}

// headerName and headerValue are RFC 9110's token and field value. Hooks link
// this package, so that nothing here may bring the network along.
var (
	headerName  = lazyregexp.New("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	headerValue = lazyregexp.New(`^[^\x00-\x08\x0a-\x1f\x7f]*$`)
)

var serverName = lazyregexp.New(`^[\pL\pN][\pL\pN ._/@-]{0,63}$`)

func (p *parser) server(name string, v value, own bool) (s Server, err error) {
	if !serverName.MatchString(name) {
		return s, v.fail("want a name of up to 64 letters, digits and . _ / @ -")
	}
	if slices.ContainsFunc(p.p.Servers, func(s Server) bool { return s.Name == name }) {
		return s, v.fail("%s has a server of this name", Servers)
	}
	if _, err = v.object(); err != nil {
		return s, err
	}
	if own {
		if v, err = onPlatform(v); err != nil {
			return s, err
		}
	}
	s.Name = name
	if s.Type, err = v.str("type"); err != nil {
		return s, err
	}
	allowed := []string{"type", "url", "headers"}
	switch s.Type {
	case "stdio":
		allowed = []string{"type", "command", "args", "env", "cwd"}
	case "streamable-http", "sse":
	default:
		return s, v.fail("type: want stdio, streamable-http or sse, not %q", cut(s.Type, 40))
	}
	m, _ := v.object()
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(allowed, key) {
			field, _ := v.get(key)
			return s, field.fail("a %s server has no such field", s.Type)
		}
	}
	if s.Type == "stdio" {
		err = p.stdio(&s, v, own)
	} else {
		err = p.remote(&s, v, own)
	}
	return s, err
}

// onPlatform applies what "platforms" says of the system that whet runs on.
func onPlatform(v value) (value, error) {
	x, ok := v.get("platforms")
	if !ok {
		return v, nil
	}
	if _, err := x.object(); err != nil {
		return v, err
	}
	name := runtime.GOOS
	if name == "windows" {
		name = "win32"
	}
	merged := maps.Clone(v.v.(map[string]any))
	delete(merged, "platforms")
	if over, ok := x.get(name); ok {
		m, err := over.object()
		if err != nil {
			return v, err
		}
		maps.Copy(merged, m)
	}
	return value{v.d, v.ptr, merged}, nil
}

func (p *parser) stdio(s *Server, v value, own bool) (err error) {
	if s.Command, err = v.str("command"); err != nil {
		return err
	}
	if s.Args, err = v.list("args"); err != nil {
		return err
	}
	if s.Env, err = v.stringMap("env"); err != nil {
		return err
	}
	if s.Dir, err = v.str("cwd"); err != nil {
		return err
	}
	if err := p.command(s.Command); err != nil {
		return v.fail("command: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		val := s.Env[name]
		if name == "PLUGIN_ROOT" || name == "PLUGIN_DATA" {
			return v.fail("env: %s is set by whoever starts the server", name)
		}
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(val, "\x00") {
			return v.fail("env: %q can't be a variable", cut(name, 64))
		}
	}
	if slices.ContainsFunc(s.Args, func(a string) bool { return strings.Contains(a, "\x00") }) {
		return v.fail("args: a zero byte can't be passed on")
	}
	if _, given := v.get("cwd"); given {
		if err := directory(s.Dir); err != nil {
			return v.fail("cwd: %v", err)
		}
	}
	return p.settled(v, own, append(slices.Sorted(maps.Values(s.Env)), s.Args...))
}

// command checks the one token that is run: a bare name, or a file of the
// package.
func (p *parser) command(c string) error {
	switch {
	case c == "":
		return fmt.Errorf("it is missing")
	case strings.ContainsAny(c, "\\\x00\n\r$"):
		return fmt.Errorf("want one program's name, without placeholders")
	case !strings.HasPrefix(c, "./"):
		if strings.Contains(c, "/") {
			return fmt.Errorf("want a bare name, or a path in the package that begins with ./")
		}
		if c == "." || c == ".." || strings.HasPrefix(c, "-") {
			return fmt.Errorf("%q is no program's name", c)
		}
		if strings.ContainsAny(c, " \t;|&<>`'\"()") {
			return fmt.Errorf("want one program's name, not a line for a shell")
		}
		return nil
	}
	clean := path.Clean(c)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return fmt.Errorf("%s leads out of the package", c)
	}
	if _, ok := p.t.Get(clean); !ok {
		return fmt.Errorf("there is no file %s in the package", clean)
	}
	return nil
}

// directory checks a working directory.
func directory(dir string) error {
	rest, ok := dir, false
	for _, root := range []string{"${PLUGIN_ROOT}", "${PLUGIN_DATA}", "."} {
		if r, found := strings.CutPrefix(dir, root); found && (r == "" && root != "." || strings.HasPrefix(r, "/")) {
			rest, ok = strings.TrimPrefix(r, "/"), true
			break
		}
	}
	if !ok || strings.ContainsAny(rest, "\\\x00") {
		return fmt.Errorf("want ./ or ${PLUGIN_ROOT} or ${PLUGIN_DATA} and what is below")
	}
	if clean := path.Clean(rest); clean == ".." || strings.HasPrefix(clean, "../") {
		return fmt.Errorf("it leads out of its directory")
	}
	return nil
}

func (p *parser) remote(s *Server, v value, own bool) (err error) {
	if s.URL, err = v.str("url"); err != nil {
		return err
	}
	if s.Headers, err = v.stringMap("headers"); err != nil {
		return err
	}
	if err := Endpoint(s.URL, own); err != nil {
		return v.fail("url: %v", err)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		val := s.Headers[name]
		switch {
		case !headerName.MatchString(name) || !headerValue.MatchString(val):
			return v.fail("headers: %q or its value is no valid header", cut(name, 64))
		case seen[strings.ToLower(name)]:
			return v.fail("headers: %s is there twice", name)
		}
		seen[strings.ToLower(name)] = true
	}
	return p.settled(v, own, append(slices.Sorted(maps.Values(s.Headers)), s.URL))
}

// Endpoint checks the address of a remote server: https, or http to this
// machine, without user and fragment. Settings may stand in the path and query
// of an own one, never in its host.
func Endpoint(s string, own bool) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("want an absolute https address")
	case u.User != nil || u.Fragment != "":
		return fmt.Errorf("a user or a fragment may not be in it")
	case strings.ContainsAny(u.Host, "${}"), !own && strings.Contains(s, "${"):
		return fmt.Errorf("placeholders aren't expanded in it")
	}
	host := u.Hostname()
	ip, _ := netip.ParseAddr(host)
	if u.Scheme == "http" && host != "localhost" && !ip.IsLoopback() {
		return fmt.Errorf("want https; http is for this machine only")
	}
	return nil
}

var placeholder = lazyregexp.New(`\$\{user_config\.([^}]*)\}`)

// settled checks that the settings that a server of ours uses are declared.
func (p *parser) settled(v value, own bool, texts []string) error {
	if !own {
		return nil
	}
	for _, text := range texts {
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(p.p.Settings, func(s Setting) bool { return s.Name == m[1] }) {
				return v.fail("it uses the setting %q, which userConfig doesn't have", cut(m[1], 64))
			}
		}
	}
	return nil
}
