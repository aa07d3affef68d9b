package convert

import (
	"maps"
	"slices"
	"strings"
)

// versions of the MCP bundle format that are known.
var bundleVersions = []string{"0.1", "0.2", "0.3", "0.4"}

// bundle takes an MCP bundle (.mcpb, once .dxt): one local server.
func (b *builder) bundle(file string) error {
	f, _ := b.in.Get(file)
	m, err := parse(f)
	if err != nil {
		return err
	}
	version := text(m["manifest_version"]) + text(m["dxt_version"])
	if !slices.Contains(bundleVersions, version) {
		return fail("unsupported", file, "manifest_version is %q; want one of %s", cut(version, 20), strings.Join(bundleVersions, ", "))
	}
	b.describe(m)
	b.skillsIn("skills")
	b.userConfig(m.obj("user_config"))
	server := m.obj("server")
	entry, ok := local(server.str("entry_point"))
	if _, there := b.in.Get(entry); !ok || !there {
		return fail("invalid-package", file, "server.entry_point is %q, and there is no such file in the bundle", cut(server.str("entry_point"), 100))
	}
	config := server.obj("mcp_config")
	base, err := b.bundleServer(server.str("type"), entry, config)
	if err != nil {
		return fail("invalid-package", file, "server: %v", err)
	}
	platforms := map[string]any{}
	overrides := config.obj("platform_overrides")
	for _, platform := range overrides.keys() {
		o := maps.Clone(config)
		for _, key := range []string{"command", "args"} {
			if v, ok := overrides.obj(platform)[key]; ok {
				o[key] = v
			}
		}
		env := map[string]any{}
		maps.Copy(env, config.obj("env"))
		maps.Copy(env, overrides.obj(platform).obj("env"))
		o["env"] = env
		s, err := b.bundleServer(server.str("type"), entry, o)
		if err != nil {
			b.note("invalid-server", file, "what is different on %s is left out: %v", cut(platform, 20), err)
			continue
		}
		delete(s, "type")
		platforms[platform] = s
	}
	if exe := entry + ".exe"; server.str("type") == "binary" && platforms["win32"] == nil && b.has(exe) {
		platforms["win32"] = map[string]any{"command": "./" + exe}
	}
	if len(platforms) > 0 {
		base["platforms"] = platforms
	}
	b.addServer(m.str("name"), base, file)
	if server.str("type") == "binary" {
		b.executable(entry)
	}
	if p, ok := m["prompts"].([]any); ok && len(p) > 0 {
		b.unsupported(file, "prompts, which the server offers by itself")
	}
	return nil
}

// bundleServer is the server by one platform's configuration. A program in the
// bundle may be written without ./ there.
func (b *builder) bundleServer(kind, entry string, config object) (map[string]any, error) {
	o := maps.Clone(config)
	if o == nil {
		o = object{}
	}
	if command := roots.Replace(o.str("command")); command != "" {
		o["command"] = command
	} else {
		root := "${PLUGIN_ROOT}/" + entry
		switch kind {
		case "node":
			o["command"], o["args"] = "node", []any{root}
		case "python":
			o["command"], o["args"] = "python3", []any{root}
		case "uv":
			o["command"], o["args"] = "uv", []any{"run", "--directory", "${PLUGIN_ROOT}", entry}
		case "binary":
			o["command"] = root
		default:
			return nil, serverError("its type is " + cut(kind, 40) + "; want node, python, uv or binary")
		}
	}
	return b.portable(o)
}

// executable gives a file the exec bit: archives made on Windows have none.
func (b *builder) executable(name string) {
	f := b.files[name]
	if !f.Exec {
		f.Exec = true
		b.files[name] = f
		b.note("made-executable", name, "the archive has it without the exec bit")
	}
}
