package convert

import (
	"maps"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/lazyregexp"
	"github.com/whet-dev/whet/market/plugin"
)

// serverFile takes a JSON file of servers. Its servers are the file's members,
// or those of its mcpServers.
func (b *builder) serverFile(name string) {
	f, ok := b.in.Get(name)
	if !ok {
		return
	}
	o, err := parse(f)
	if err != nil {
		b.note("invalid-mcp", name, "no server of it is taken: %s", strings.TrimPrefix(err.Error(), name+": "))
		return
	}
	for _, key := range []string{"mcpServers", "mcp_servers", "servers"} {
		if inner := o.obj(key); inner != nil {
			o = inner
			break
		}
	}
	b.serversOf(o, name)
}

// serversOf takes servers by name.
func (b *builder) serversOf(servers object, file string) {
	for _, name := range servers.keys() {
		s := servers.obj(name)
		if s == nil {
			continue // $schema and the like
		}
		b.server(name, s, file)
	}
}

var serverSlug = lazyregexp.New(`[^\pL\pN ._/@-]+`)

// server takes one server in whichever shape hosts give it.
func (b *builder) server(name string, s object, file string) {
	out, err := b.portable(s)
	if err != nil {
		b.note("invalid-server", file, "the server %q is left out: %v", cut(name, 80), err)
		return
	}
	for _, key := range s.keys() {
		if !slices.Contains(taken, key) {
			b.once("not-applied", file, "%q of servers", cut(key, 80))
		}
	}
	b.addServer(name, out, file)
}

// taken are the members of a foreign server that are read.
var taken = []string{"type", "transport", "command", "args", "env", "environment", "cwd", "url", "httpUrl", "serverUrl", "headers", "http_headers", "enabled", "disabled", "description"}

// addServer puts a server where it belongs: one that needs a setting is whet's
// alone.
func (b *builder) addServer(name string, s map[string]any, file string) {
	name = strings.Trim(cut(serverSlug.ReplaceAllString(name, "-"), 64), " ._/@-…")
	if b.servers[name] != nil || b.own[name] != nil || name == "" {
		b.note("duplicate-name", file, "a second server %q is left out", name)
		return
	}
	_, byPlatform := s["platforms"]
	if byPlatform || strings.Contains(anyText(s), "${user_config.") {
		b.own[name] = s
	} else {
		b.servers[name] = s
	}
}

type serverError string

func (e serverError) Error() string { return string(e) }

// portable is a server in the shape of mcp.json.
func (b *builder) portable(s object) (map[string]any, error) {
	if s.boolean("disabled") || s["enabled"] == false {
		return nil, serverError("it is turned off where it comes from")
	}
	command, args := s.str("command"), s.list("args")
	if list, ok := s["command"].([]any); ok && len(list) > 0 { // OpenCode
		words := s.list("command")
		if len(words) != len(list) {
			return nil, serverError("its command isn't all strings")
		}
		command, args = words[0], append(words[1:], args...)
	}
	if command != "" {
		return b.stdio(command, args, s)
	}
	return b.remote(s)
}

func (b *builder) stdio(command string, args []string, s object) (map[string]any, error) {
	out := map[string]any{"type": "stdio"}
	command = roots.Replace(command)
	if words := strings.Fields(command); len(words) > 1 && !b.has(inPackage(command)) && !strings.ContainsAny(command, `"'\`) {
		command, args = words[0], append(words[1:], args...)
	}
	command, err := b.program(command)
	if err != nil {
		return nil, err
	}
	out["command"] = command
	if len(args) > 0 {
		list := make([]string, len(args))
		for i, a := range args {
			list[i] = b.settle(roots.Replace(a))
		}
		out["args"] = list
	}
	env := map[string]string{}
	for _, key := range []string{"env", "environment"} {
		for _, name := range s.obj(key).keys() {
			env[name] = b.settle(roots.Replace(text(s.obj(key)[name])))
		}
	}
	for _, reserved := range []string{"PLUGIN_ROOT", "PLUGIN_DATA"} {
		delete(env, reserved) // set for every server
	}
	if len(env) > 0 {
		out["env"] = env
	}
	if dir := roots.Replace(s.str("cwd")); dir != "" && dir != "${PLUGIN_ROOT}" {
		if !strings.HasPrefix(dir, "${PLUGIN_") && !strings.HasPrefix(dir, "./") {
			clean, ok := local(dir)
			if !ok || strings.Contains(dir, "${") {
				return nil, serverError("its directory isn't in the package")
			}
			dir = "./" + clean
		}
		out["cwd"] = dir
	}
	return out, nil
}

// inPackage is a command as a file of the package.
func inPackage(command string) string {
	clean, _ := local(strings.TrimPrefix(command, "${PLUGIN_ROOT}/"))
	return clean
}

// program is the one token that is run: a bare name, or a file of the package.
func (b *builder) program(command string) (string, error) {
	rest, inRoot := strings.CutPrefix(command, "${PLUGIN_ROOT}/")
	switch {
	case strings.ContainsAny(rest, "$"):
		return "", serverError("its command has a placeholder, and only its arguments may")
	case strings.HasPrefix(command, "/") || strings.ContainsAny(command, "\\\x00"):
		return "", serverError("its command is an absolute path, or Windows' own; want a program's name or a file of the package")
	case !inRoot && !strings.Contains(command, "/"):
		if _, ok := b.in.Get(command); !ok {
			return command, nil
		}
	}
	clean, ok := local(rest)
	if !ok {
		return "", serverError("its command leads out of the package")
	}
	if _, ok := b.in.Get(clean); !ok {
		return "", serverError("its command " + cut(clean, 100) + " isn't in the package")
	}
	return "./" + clean, nil
}

// remote is a server at an address. Gemini's "url" is the older transport and
// its "httpUrl" the newer; elsewhere the type says it.
func (b *builder) remote(s object) (map[string]any, error) {
	kind := s.str("type")
	if kind == "" {
		kind = s.str("transport")
	}
	switch strings.ToLower(strings.ReplaceAll(kind, "_", "-")) {
	case "", "http", "streamable-http", "streamablehttp", "remote":
		kind = "streamable-http"
	case "sse":
		kind = "sse"
	default:
		return nil, serverError("whet has no transport " + cut(kind, 40))
	}
	address := ""
	for _, key := range []string{"url", "httpUrl", "serverUrl"} {
		if address == "" {
			address = s.str(key)
		}
	}
	if address == "" {
		return nil, serverError("it has neither a command nor an address")
	}
	address = b.settle(roots.Replace(address))
	if err := plugin.Endpoint(address, true); err != nil {
		return nil, serverError("its address can't be used: " + err.Error())
	}
	if strings.Contains(userConfig.ReplaceAllString(address, ""), "${") {
		return nil, serverError("its address has a placeholder that nobody expands")
	}
	out := map[string]any{"type": kind, "url": address}
	headers := map[string]string{}
	for _, key := range []string{"headers", "http_headers"} {
		for _, name := range s.obj(key).keys() {
			headers[name] = b.settle(text(s.obj(key)[name]))
		}
	}
	if len(headers) > 0 {
		out["headers"] = headers
	}
	return out, nil
}

var (
	shellVar = lazyregexp.New(`\$\{(env:)?([A-Za-z_][A-Za-z0-9_]*)(:?-([^}]*))?\}|\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
	bareVar  = lazyregexp.New(`^\$([A-Za-z_][A-Za-z0-9_]*)$`)
	secret   = lazyregexp.New(`(?i)key|token|secret|passw|credential|auth`)
)

// settle makes settings of the variables in a value: the portable format
// expands none, so that whet has to put them in when it starts the server.
func (b *builder) settle(v string) string {
	v = bareVar.ReplaceAllString(v, "$${$1}")
	v = shellVar.ReplaceAllStringFunc(v, func(m string) string {
		g := shellVar.FindStringSubmatch(m)
		name := g[2] + g[5]
		if name == "PLUGIN_ROOT" || name == "PLUGIN_DATA" {
			return m
		}
		if b.settings[name] == nil {
			b.settings[name] = map[string]any{"type": "string", "env": name, "sensitive": secret.MatchString(name), "required": g[3] == ""}
			if g[4] != "" {
				b.settings[name]["default"] = g[4]
			}
		}
		return "${user_config." + name + "}"
	})
	for _, m := range userConfig.FindAllStringSubmatch(v, -1) {
		if b.settings[m[1]] == nil && plugin.SettingName.MatchString(m[1]) {
			b.settings[m[1]] = map[string]any{"type": "string", "env": b.envOf(m[1]), "sensitive": secret.MatchString(m[1]), "required": true}
		}
	}
	return v
}

var userConfig = lazyregexp.New(`\$\{user_config\.([^}]*)\}`)

// envOf is the variable that a person may give a setting by.
func (b *builder) envOf(setting string) string {
	s := strings.ToUpper(slug(b.name+"_"+setting, '_', "_"))
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		s = "PLUGIN_" + s
	}
	return s
}

// userConfig takes the settings that a manifest declares.
func (b *builder) userConfig(o object) {
	for _, name := range o.keys() {
		s := o.obj(name)
		if s == nil || !plugin.SettingName.MatchString(name) {
			b.note("invalid-setting", "", "the setting %q is left out", cut(name, 80))
			continue
		}
		out := map[string]any{"type": "string", "env": b.envOf(name), "required": s.boolean("required"), "sensitive": s.boolean("sensitive")}
		if kind := s.str("type"); slices.Contains([]string{"number", "boolean", "directory", "file"}, kind) {
			out["type"] = kind
		}
		if title := s.str("title"); title != "" {
			out["title"] = title
		} else if d := s.str("description"); d != "" {
			out["title"] = cut(oneLine(d), 200)
		}
		if d := text(s["default"]); d != "" && !strings.Contains(d, "${") {
			out["default"] = d
		} else if s["default"] != nil {
			b.once("not-applied", "", "defaults of settings that are lists or name the person's directories")
		}
		if s.boolean("multiple") {
			b.once("not-applied", "", "settings with several values: one is taken")
		}
		b.settings[name] = out
	}
}

// addEnv gives every local server a variable.
func (b *builder) addEnv(name, v string) {
	for _, list := range []map[string]any{b.servers, b.own} {
		for _, key := range slices.Sorted(maps.Keys(list)) {
			s := list[key].(map[string]any)
			if s["type"] != "stdio" {
				continue
			}
			env, _ := s["env"].(map[string]string)
			if env == nil {
				env = map[string]string{}
			}
			if _, ok := env[name]; !ok {
				env[name] = v
			}
			s["env"] = env
			delete(list, key)
			b.own[key] = s
		}
	}
}
