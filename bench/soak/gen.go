//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/whet-dev/whet"
)

// A gen makes arguments. Its values depend on nothing but the seed, the
// project's files and the tasks that there are.
type gen struct {
	*rand.Rand
	w    *world
	site *site
	ids  *ids
}

func pick[T any](g *gen, of ...T) T { return of[g.IntN(len(of))] }

// one in n times.
func (g *gen) one(n int) bool { return g.IntN(n) == 0 }

// ids remembers the names of tasks.
type ids struct {
	mu   sync.Mutex
	last [16]string
	n    int
}

func (i *ids) add(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last[i.n%len(i.last)] = id
	i.n++
}

func (i *ids) get(n int) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.last[n%len(i.last)]
}

// args makes a tool's arguments, as its schema says or not.
func (g *gen) args(s *whet.Schema) json.RawMessage {
	switch g.IntN(40) {
	case 0:
		return json.RawMessage(pick(g, "null", "{}", `{"":""}`, `{"__proto__":{"x":1}}`))
	case 1:
		return g.json(g.IntN(200))
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, p := range s.Properties {
		need := slices.Contains(s.Required, p.Name)
		if need && g.one(40) || !need && !g.one(4) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", quote(p.Name), g.property(p.Name, p.Schema))
	}
	if g.one(20) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", quote(g.hostile()), g.json(3))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// property makes the value of one parameter.
func (g *gen) property(name string, s *whet.Schema) json.RawMessage {
	switch g.IntN(48) {
	case 0:
		return g.json(3)
	case 1:
		return quote(g.hostile())
	}
	v := g.value(name, s)
	if s.Type == "array" && s.Items != nil {
		list := make([]json.RawMessage, g.IntN(4))
		for i := range list {
			list[i] = g.value(name, s.Items)
		}
		v, _ = json.Marshal(list)
	}
	return v
}

func (g *gen) value(name string, s *whet.Schema) json.RawMessage {
	switch {
	case len(s.Enum) > 0:
		return quote(pick(g, s.Enum...))
	case s.Type == "boolean":
		return json.RawMessage(pick(g, "true", "false", "false", `"yes"`, "null"))
	case strings.HasPrefix(name, "timeout") || name == "max_run_s":
		return json.RawMessage(pick(g, "1", "2", "1", "2", "1.5", "-1", `"2"`))
	case (s.Type == "integer" || s.Type == "number") && !g.one(4):
		return fmt.Append(nil, 1+g.IntN(15))
	case s.Type == "integer" || s.Type == "number":
		return json.RawMessage(pick(g, "0", "1", "2", "20", "100", "-1", "1e3", `"7"`, "99999999999999999999", "1e308", "-0", "null"))
	case s.Type == "object":
		return g.json(5)
	}
	if g.one(3) {
		return quote(g.text(name))
	}
	return quote(g.kind(name))
}

// kind makes a string that a well-meaning caller would give.
func (g *gen) kind(name string) string {
	all, kinds := names(), g.site.kinds()
	switch name {
	case "path", "paths", "file_path", "filePath":
		return pick(g, all[g.IntN(len(all))], "src", ".", "src/deep", filepath.Join(g.w.project, all[g.IntN(len(all))]))
	case "pattern":
		return pick(g, "alpha", "beta", "alpha($A)", "fmt.Println($A)", "console.log($A)", `func \w+`, "**/*.go", "return $A", "*")
	case "include", "globs", "files":
		return pick(g, "*.go", "**/*.ts", "src/**")
	case "url":
		return g.site.url + "/" + kinds[g.IntN(len(kinds))]
	case "task_id", "task_ids", "after":
		return g.ids.get(g.IntN(16))
	case "rewrite":
		return pick(g, "beta($A)", "log($A)", "$A")
	case "lang":
		return pick(g, "go", "typescript", "python")
	case "subagent_type":
		return pick(g, "explorer", "fixer")
	}
	return g.text(name)
}

// text makes a string that suits a parameter's name, or that doesn't.
func (g *gen) text(name string) string {
	switch name {
	case "path", "paths", "file_path", "filePath", "files":
		return g.path()
	case "pattern", "find":
		return g.pattern()
	case "include", "globs":
		return pick(g, "*.go", "**/*.ts", "!*.go", "{a,b}*", strings.Repeat("{a,b}", 40), strings.Repeat("*", 300)+"x", "[", "[!", "--hidden", "../**", "\\", "**/**/**/**/*.go")
	case "url":
		return g.url()
	case "patch", "command", "input":
		return g.patch()
	case "task_id", "task_ids", "after":
		return pick(g, g.ids.get(g.IntN(16)), g.ids.get(g.IntN(16)), "tsk_none", "", "../x", g.hostile())
	case "subagent_type":
		return pick(g, "explorer", "fixer", "librarian", "oracle", "nobody", g.hostile())
	case "prompt", "description", "message", "reason":
		return pick(g, "say what alpha is", "[[script:work]] look at alpha", "[[script:hostile]] go", "[[script:hang]] wait", "[[script:broken]] go", g.hostile())
	case "lang":
		return pick(g, "go", "go", "typescript", "python", "json", "klingon", "GO", "")
	case "rewrite":
		return pick(g, "beta($A)", "$A", "", "$$$", "alpha($$$ARGS)", g.hostile())
	case "rule":
		return pick(g, "pattern: alpha($A)", "any: [", "kind: call_expression\nhas: {pattern: $A, stopBy: end}", "regex: '(a+)+$'", "&a [*a]", "id: x\nutils: {u: {matches: u}}\nrule: {matches: u}", g.hostile())
	case "selector":
		return pick(g, "main", "h1", "*:not(*)", "a:nth-child(999999n+1)", strings.Repeat("div ", 200), "::", g.hostile())
	case "output":
		return pick(g, "content", "files", "count", "x")
	case "strictness":
		return pick(g, "smart", "ast", "cst", "x")
	case "section":
		return pick(g, "beta", "#beta", g.hostile())
	case "pages":
		return pick(g, "1", "1-3", "0", "9-1", "1-99999999999", "-")
	}
	return g.hostile()
}

func (g *gen) path() string {
	all := names()
	inside := all[g.IntN(len(all))]
	return pick(g, inside, inside, inside, "src", ".", "", "src/deep", filepath.Join(g.w.project, inside), g.w.project+"-evil/secret.go",
		"../outside/secret.go", "../my project-evil/secret.go", "out/secret.go", "out.go", "out", "dangling.go", "round", "evil/secret.go", "chain/secret.go", "home/.netrc",
		"rootfs"+g.w.dir+"/outside/secret.go", "zero", "fifo", "fifo", "fifo/x", "sock", "/etc/passwd", "/dev/zero", "/proc/self/environ", "/proc/self/root"+g.w.dir+"/outside/secret.go", "~/.netrc",
		"src/../../outside/secret.go", "src//./deep/../deep", "C:\\x", "\\\\?\\x", "src/none/at/all", "-rf", "@file", strings.Repeat("a/", 3000), strings.Repeat("a", 300), "src/\x00", filepath.Join(g.w.dir, "outside"), g.hostile())
}

func (g *gen) pattern() string {
	return pick(g, "alpha", "alpha", "beta", `func \w+`, "console.log($A)", "alpha($$$)", "fmt.Println($A)", "$A", "*.go", "**/*", "src/**/*.{go,ts}", "(a+)+$", "(a|aa)*b", strings.Repeat("a?", 200)+strings.Repeat("a", 200), "(?:x{0,1000}){0,1000}",
		"[", "(", "(?<=a)b", `\p{Greek}`, "--pre=sh", "-e", "$(id)", "^$", "", ".*", "(?s).*", `\x00`, "a{99999}", strings.Repeat("(", 2000), strings.Repeat("alpha|", 5000)+"x", "CANARY", "var Alpha", "$$$A($B, $$$C)", g.hostile())
}

func (g *gen) url() string {
	bad := g.site.forbidden()
	kinds := g.site.kinds()
	page := g.site.url + "/" + kinds[g.IntN(len(kinds))]
	return pick(g, page, page, page, page, page+fmt.Sprint("?n=", g.IntN(1000)), page+"#beta", g.site.url+"/plain", bad[g.IntN(len(bad))], bad[g.IntN(len(bad))],
		fmt.Sprint(g.site.url, "/jump/", g.IntN(100)), strings.Replace(g.site.url, "127.0.0.1", "localhost", 1)+"/plain", "http://127.0.0.1:1/", "http://", "//x", "http://["+g.site.port, "http://a b/", g.site.url+"/"+strings.Repeat("a", 9000), g.hostile())
}

// patch makes one that fits, one that has gone stale, or none.
func (g *gen) patch() string {
	name := g.path()
	b := plain(g.w, name)
	lines := strings.Split(string(b), "\n")
	at := g.IntN(len(lines))
	old := lines[at]
	if g.one(4) {
		old = strings.ToUpper(old)
	}
	first := ""
	if at > 0 {
		first = " " + lines[at-1] + "\n"
	}
	update := "*** Update File: " + name + "\n@@\n" + first + "-" + old + "\n+" + pick(g, old+" // alpha", "", g.hostile()) + "\n"
	other := g.path()
	body := pick(g, update, update, update, update+update,
		"*** Add File: "+name+"\n+alpha\n", "*** Add File: out/new.go\n+alpha\n", "*** Add File: src/moved1/x.go\n+package x // alpha\n", "*** Delete File: "+name+"\n",
		"*** Update File: "+name+"\n*** Move to: "+other+"\n@@\n"+first+"-"+old+"\n+x\n", update+"*** Delete File: "+other+"\n", strings.Repeat("@@\n", 5000), g.hostile())
	whole := pick(g, "*** Begin Patch\n"+body+"*** End Patch", "*** Begin Patch\n"+body+"*** End Patch\n", "```\n*** Begin Patch\n"+body+"*** End Patch\n```", body, "*** Begin Patch\n"+body,
		"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+../outside/secret.go\n")
	if g.one(10) {
		whole = strings.ReplaceAll(whole, "\n", "\r\n")
	}
	return whole
}

// plain reads a plain file of the project; nil if it isn't one.
func plain(w *world, name string) []byte {
	info, err := w.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil
	}
	b, _ := w.root.ReadFile(name) // gone meanwhile: as good as none
	return b
}

// hostile makes a string that nobody means well with.
func (g *gen) hostile() string {
	return pick(g, "", " ", "\x00", "a\x00b", "\x1b]52;c;AAAA\x07\x1b[2J", "\u202egnp.exe", "\u200b\u200d", "\U000E0041\U000E0042", "\ufeff", "\xff\xfe\xfd", "\u2028", "-", "--", "--version", "@/etc/passwd", "$(touch ../outside/pwned)", "; touch ../outside/pwned",
		"`touch ../outside/pwned`", "%s%n%d", "{{.}}", "../../../../etc/passwd", "CON", "a\r\nX: y", strings.Repeat("a", 1+g.IntN(70000)), strings.Repeat("\u00e9\u0301", 3000), strings.Repeat("[", 5000), "null", "1e999", g.noise())
}

// noise is random bytes; now and then a lot of them.
func (g *gen) noise() string {
	n := g.IntN(100)
	if g.one(30) {
		n = g.IntN(4 << 20)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return string(b)
}

// json makes any JSON value, at most depth deep.
func (g *gen) json(depth int) json.RawMessage {
	if g.one(4) {
		return json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth) + strings.Repeat(" ", 1-min(1, depth)) + strings.Repeat("0", 1-min(1, depth)))
	}
	return json.RawMessage(pick(g, "null", "true", "0", "-1", "1e400", `"x"`, `"\ud800"`, "[]", "{}", `[null,{"a":[1,"b"]}]`, `{"a":1,"a":2}`, string(quote(g.hostile()))))
}

// quote writes a string as JSON. Bytes that are no UTF-8 stay as they are, half
// of the clients' mistakes being of this kind.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.Bytes()
}
