package convert

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"
)

// single takes a package that is one JSON file, the format that came before:
// an agent, and the names of what it needs.
func (b *builder) single(file string) error {
	f, _ := b.in.Get(file)
	var m object
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(f.Data), "\ufeff")), &m); err != nil {
		return fail("invalid-package", file, "it isn't JSON: %v", err)
	}
	if v, _ := m["schemaVersion"].(float64); v != 1 && v != 2 && v != 3 {
		return fail("unsupported", file, "schemaVersion is %v; want 1, 2 or 3", m["schemaVersion"])
	}
	if kind := m.str("kind"); kind != "" && kind != "agent" {
		return fail("unsupported", file, "it is a %s, and only agents are taken", cut(kind, 40))
	}
	id := strings.ToLower(strings.TrimSpace(m.str("id")))
	_, name, ok := strings.Cut(id, "/")
	if !ok {
		return fail("invalid-package", file, "id is %q; want publisher/name", cut(id, 140))
	}
	b.describe(m)
	b.name, b.id, b.title = name, id, m.str("displayName")
	if tags := m.list("tags"); len(tags) > 0 {
		b.meta["keywords"] = tags
	}
	agent := m.str("agentName")
	head := map[string]any{"description": m.str("description"), "temperature": m["temperature"], "color": m["color"]}
	if list := m["tools"]; list != nil {
		head["tools"] = list
	}
	if policy := m.obj("model"); policy.str("model") != "" {
		head["model"] = policy.str("model")
	}
	if strings.TrimSpace(m.str("prompt")) == "" && m.str("extends") != "" {
		return fail("unsupported", file, "it has no prompt of its own")
	}
	b.agentOf(agent, file, head, m.str("prompt"))
	b.singleNeeds(m, agent)
	upstream, err := canonicalDigest(map[string]any(m))
	if err != nil {
		return fail("invalid-package", file, "%v", err)
	}
	b.upstream = upstream
	b.drop(file)
	return nil
}

func (b *builder) singleNeeds(m object, agent string) {
	b.requires = map[string]any{}
	for from, to := range map[string]string{"skills": "skills", "mcps": "mcp", "tools": "tools"} {
		if names := m.list(from); len(names) > 0 {
			b.requires[to] = names
		}
	}
	route := map[string]any{}
	if s := m.str("extends"); s != "" {
		route["extends"] = s
	}
	if r := m.obj("routing"); r != nil {
		out := map[string]any{}
		for _, key := range []string{"delegateWhen", "avoid"} {
			if lines := r.list(key); len(lines) > 0 {
				out[key] = lines
			}
		}
		if s := r.str("lane"); s != "" {
			out["lane"] = s
		}
		route["routing"] = out
	}
	if len(route) > 0 {
		b.routing[agent] = route
	}
	if m.obj("compatibility").str("plugin") != "" {
		b.note("not-applied", "", "compatibility: it is about another program's version")
	}
}

// canonicalDigest is the digest that the older format's own lock file has:
// SHA-256 of the JSON without spaces, members sorted by their UTF-16 units.
func canonicalDigest(v any) (string, error) {
	var b bytes.Buffer
	if err := canonical(&b, v); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func canonical(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case map[string]any:
		keys := object(v).keys()
		slices.SortFunc(keys, func(x, y string) int { return slices.Compare(utf16.Encode([]rune(x)), utf16.Encode([]rune(y))) })
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(jsString(k))
			b.WriteByte(':')
			if err := canonical(b, v[k]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := canonical(b, x); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case string:
		b.WriteString(jsString(v))
	default:
		data, err := json.Marshal(v) // numbers in the shortest form, as ECMAScript has them
		if err != nil {
			return err
		}
		b.Write(data)
	}
	return nil
}

// jsString is a string as JSON.stringify writes it.
func jsString(s string) string {
	return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(quoted(s))
}
