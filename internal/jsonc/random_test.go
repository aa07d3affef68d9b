package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

// Random edits of random files, as people write them: every comment stays, in
// its order; every line but the edited one stays; the value is the intended one;
// what needs no edit stays byte for byte; a strict file stays strict.
func TestRandomEdits(t *testing.T) {
	n := 8_000
	if os.Getenv("WHET_SLOW") != "" {
		n = 200_000
	}
	kinds := map[string]int{}
	for seed := range n {
		kinds[randomEdit(t, uint64(seed))]++
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(kinds)
	for _, kind := range []string{"set", "new", "delete", "no-op", "refused"} {
		if kinds[kind] < n/100 {
			t.Errorf("only %d of %d edits are of the kind %s: the test has lost its force", kinds[kind], n, kind)
		}
	}
}

func FuzzRandomEdits(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { randomEdit(t, seed) })
}

// Whatever the text, an edit gives the intended value or an error.
func FuzzText(f *testing.F) {
	for seed := range uint64(20) {
		w := &writer{r: rand.New(rand.NewPCG(seed, 1))}
		f.Add(w.document(), "a", "b")
	}
	f.Fuzz(func(t *testing.T, text []byte, a, b string) {
		d, err := Parse(text)
		if err != nil || d.Set(true, a, b) != nil {
			return
		}
		if !d.Has(true, a, b) && a != "-" && b != "-" {
			t.Fatalf("not set: %q", d.Bytes())
		}
		once := bytes.Clone(d.Bytes())
		if err := d.Set(true, a, b); a != "-" && b != "-" && (err != nil || !bytes.Equal(once, d.Bytes())) {
			t.Fatalf("set twice: %v\n%q\n%q", err, once, d.Bytes())
		}
		if err := d.Delete(a, b); err != nil {
			t.Fatal(err)
		}
		if got, want := comments(d.Bytes()), comments(text); !slices.Equal(got, want) && !overwritten(text, a) {
			t.Fatalf("comments %q, want %q\n%q\n%q", got, want, text, d.Bytes())
		}
	})
}

// overwritten reports whether there was something at a, whose comments an edit
// may have replaced.
func overwritten(text []byte, a string) bool {
	d, err := Parse(text)
	return err != nil || d.Line(a) > 0
}

func randomEdit(t *testing.T, seed uint64) (kind string) {
	t.Helper()
	w := &writer{r: rand.New(rand.NewPCG(seed, 7))}
	in := w.document()
	d, err := Parse(in)
	if err != nil {
		t.Fatalf("%v\n%s", err, in)
	}
	path := w.path()
	if all, _ := d.Get(); w.r.IntN(4) > 0 {
		if there := w.pathIn(all); len(there) > 0 {
			path = there
		}
	}
	was, there := d.Get(path...)
	kind, from, to := d.place(path)
	var value any
	set := w.r.IntN(2) == 0
	if set {
		from = d.valueStart(path, from)
		value = w.plain()
		if there && w.r.IntN(8) == 0 {
			value = was
		}
		err = d.Set(value, path...)
	} else {
		err = d.Delete(path...)
	}
	out := d.Bytes()
	fail := func(format string, a ...any) string {
		t.Helper()
		t.Errorf(format+"\npath %q, set %v %v\n--- before\n%s\n--- after\n%s", append(a, path, set, value, in, out)...)
		return "failed"
	}
	if err != nil {
		if !bytes.Equal(in, out) {
			return fail("an edit that failed (%v) has changed the text", err)
		}
		if !twice(in, path) && !through(d, path) {
			return fail("refused without need: %v", err)
		}
		return "refused"
	}
	after, still := d.Get(path...)
	switch {
	case !set && !there, set && there && reflect.DeepEqual(was, normal(value)):
		if !bytes.Equal(in, out) {
			return fail("an edit that changes nothing has changed the text")
		}
		return "no-op"
	case set && !slices.Contains(path, "-") && !reflect.DeepEqual(after, normal(value)):
		return fail("the value is %v", after)
	case !set && still && kind == "object":
		return fail("it is still there")
	}
	if want := withoutRange(in, from, to); !slices.Equal(comments(out), want) {
		return fail("comments %q, want %q", comments(out), want)
	}
	if gone := lost(in, out, from, to); gone != "" {
		return fail("%q is lost", gone)
	}
	if isStrict(in) && !isStrict(out) {
		return fail("a strict file is one no more")
	}
	if bytes.HasPrefix(in, bom) != bytes.HasPrefix(out, bom) || bytes.Count(out, []byte("\r\n")) != ends(in, out) {
		return fail("the mark or the line endings have changed")
	}
	if !reflect.DeepEqual(others(t, in, path), others(t, out, path)) {
		return fail("another value has changed")
	}
	switch {
	case !set:
		return "delete"
	case there:
		return "set"
	}
	return "new"
}

// place returns the kind of the container that path leads into, and the extent
// of what is there, with its name.
func (d *Document) place(path []string) (kind string, from, to int) {
	kind = "object"
	parent, _ := d.find(path[:len(path)-1])
	v, _ := d.find(path)
	if parent != nil {
		if _, ok := parent.Value.(*hujson.Array); ok {
			kind = "list"
		}
	}
	if v == nil {
		return kind, 0, 0
	}
	slots, _, _ := slotsOf(parent)
	for _, s := range slots {
		if s.value.StartOffset == v.StartOffset {
			from = s.start
		}
	}
	return kind, from, v.EndOffset
}

// valueStart is where the value at path begins, without its name.
func (d *Document) valueStart(path []string, none int) int {
	if v, _ := d.find(path); v != nil {
		return v.StartOffset
	}
	return none
}

// twice reports whether a name of the path is there more than once, by a
// simpler rule than the editor's: anywhere.
func twice(text []byte, path []string) bool {
	return slices.ContainsFunc(path, func(name string) bool {
		return len(regexp.MustCompile(regexp.QuoteMeta(quote(name))+`\s*(/\*[^*]*\*/\s*|//[^\n]*\n\s*)*:`).FindAll(text, 2)) > 1
	})
}

// through reports whether the path leads through something that can't hold it.
func through(d *Document, path []string) bool {
	for i := range path {
		switch v, ok := d.Get(path[:i]...); v.(type) {
		case map[string]any:
		case []any:
			return true
		default:
			return ok
		}
	}
	return false
}

// others is the document's value without the one at path and the containers
// that are made for it.
func others(t *testing.T, text []byte, path []string) any {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := d.Get()
	return without(v, path)
}

func without(v any, path []string) any {
	if len(path) == 0 {
		return nil
	}
	switch c := v.(type) {
	case map[string]any:
		if c[path[0]] = without(c[path[0]], path[1:]); c[path[0]] == nil {
			delete(c, path[0])
		}
		if len(c) == 0 {
			return nil
		}
	case []any: // its elements may have moved
		return nil
	}
	return v
}

func normal(v any) any {
	b, _ := json.Marshal(v)
	return decoded(b)
}

var comment = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|//[^\n]*|/\*(?s:.*?)\*/`)

// comments lists a text's comments; strings are no comments.
func comments(text []byte) []string { return withoutRange(text, 0, 0) }

func withoutRange(text []byte, from, to int) (all []string) {
	for _, m := range comment.FindAllIndex(text, -1) {
		if text[m[0]] == '/' && (m[0] < from || m[0] >= to) {
			all = append(all, strings.TrimRight(string(text[m[0]:m[1]]), "\r"))
		}
	}
	return all
}

// lost returns what of in is not in out where it was, but for text[from:to].
// Commas come and go, and so do blanks around what has come or gone.
func lost(in, out []byte, from, to int) string {
	bare := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(","), nil) }
	a, b := bare(in), bare(out)
	front := 0
	for front < min(len(a), len(b)) && a[front] == b[front] {
		front++
	}
	back := 0
	for back < min(len(a), len(b))-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	tidy := func(b []byte) string { return strings.Join(strings.Fields(string(b)), "") }
	gone := tidy(a[front : len(a)-back])
	slot := tidy(bare(in[from:to]))
	if strings.Contains(slot+slot, gone) { // what follows may begin like it
		return ""
	}
	return gone
}

func isStrict(text []byte) bool { return json.Valid(bytes.TrimPrefix(text, bom)) }

// ends is how many Windows line endings out should have: in has one kind only.
func ends(in, out []byte) int {
	if bytes.Contains(in, []byte("\r\n")) {
		return bytes.Count(out, []byte("\n"))
	}
	return 0
}

// A writer writes documents as people do.
type writer struct {
	r        *rand.Rand
	nl, unit string
	notes    bool // comments
	commas   bool // behind the last one, now and then
	oneLine  bool
}

func (w *writer) document() []byte {
	w.nl = []string{"\n", "\n", "\r\n"}[w.r.IntN(3)]
	w.unit = []string{"  ", "    ", "\t"}[w.r.IntN(3)]
	w.notes, w.commas, w.oneLine = w.r.IntN(3) > 0, w.r.IntN(2) == 0, w.r.IntN(8) == 0
	var b strings.Builder
	if w.r.IntN(8) == 0 {
		b.Write(bom)
	}
	w.note(&b, "")
	w.container(&b, "", 0, true)
	if w.r.IntN(2) == 0 {
		b.WriteString(w.nl)
	}
	w.note(&b, "")
	return []byte(b.String())
}

var names = []string{"a", "b", "marketplace", "packages", "acme/reviewer", `q"x`, "é"}

func (w *writer) path() (path []string) {
	for range 1 + w.r.IntN(3) {
		switch w.r.IntN(8) {
		case 0:
			path = append(path, strconv.Itoa(w.r.IntN(3)))
		case 1:
			path = append(path, "-")
		default:
			path = append(path, names[w.r.IntN(len(names))])
		}
	}
	return path
}

// pathIn is a path to something that is there.
func (w *writer) pathIn(v any) (path []string) {
	for len(path) == 0 || w.r.IntN(3) > 0 {
		var all []string
		switch c := v.(type) {
		case map[string]any:
			all = slices.Sorted(maps.Keys(c))
		case []any:
			for i := range c {
				all = append(all, strconv.Itoa(i))
			}
		}
		if len(all) == 0 {
			break
		}
		name := all[w.r.IntN(len(all))]
		path = append(path, name)
		if c, ok := v.(map[string]any); ok {
			v = c[name]
		} else {
			i, _ := strconv.Atoi(name)
			v = v.([]any)[i]
		}
	}
	return path
}

func (w *writer) container(b *strings.Builder, indent string, depth int, object bool) {
	open, shut := "{", "}"
	if !object {
		open, shut = "[", "]"
	}
	n := w.r.IntN(5)
	lines := !w.oneLine && (n == 0 || w.r.IntN(5) > 0)
	b.WriteString(open)
	seen := map[string]bool{}
	for i := range n {
		if lines {
			w.note(b, indent+w.unit)
			b.WriteString(w.nl + indent + w.unit)
		}
		if object {
			name := names[w.r.IntN(len(names))]
			for seen[name] && w.r.IntN(20) > 0 { // now and then twice
				name = names[w.r.IntN(len(names))]
			}
			seen[name] = true
			b.WriteString(quote(name) + ":")
			b.WriteString([]string{"", " ", "  "}[w.r.IntN(3)])
			w.block(b)
		}
		w.value(b, indent+w.unit, depth)
		w.block(b)
		if i < n-1 || w.commas && w.r.IntN(2) == 0 {
			b.WriteString(",")
			w.block(b)
			if !lines {
				b.WriteString(" ")
			}
		}
	}
	if lines && n > 0 {
		w.note(b, indent+w.unit)
		b.WriteString(w.nl + indent)
	} else if lines && w.r.IntN(2) == 0 {
		w.note(b, indent+w.unit)
		b.WriteString(w.nl + indent)
	}
	b.WriteString(shut)
}

// note may write a comment that ends its line or has lines of its own.
func (w *writer) note(b *strings.Builder, indent string) {
	if !w.notes || w.oneLine || w.r.IntN(3) > 0 {
		return
	}
	text := []string{`say "hi"`, "{[( unbalanced", "a, b, c", "it's // here", "ends with ,"}[w.r.IntN(5)]
	switch w.r.IntN(3) {
	case 0:
		fmt.Fprintf(b, " // %s %d", text, w.r.IntN(100))
	case 1:
		fmt.Fprintf(b, "%s%s// %s %d", w.nl, indent, text, w.r.IntN(100))
	case 2:
		fmt.Fprintf(b, "%s%s/* %s%s%s   %d */", w.nl, indent, text, w.nl, indent, w.r.IntN(100))
	}
	if indent == "" {
		b.WriteString(w.nl) // before and behind everything
	}
}

// block may write a comment within a line.
func (w *writer) block(b *strings.Builder) {
	if w.notes && w.r.IntN(12) == 0 {
		fmt.Fprintf(b, " /* } \" %d */ ", w.r.IntN(100))
	}
}

func (w *writer) value(b *strings.Builder, indent string, depth int) {
	if depth < 3 && w.r.IntN(2) == 0 {
		w.container(b, indent, depth+1, w.r.IntN(3) > 0)
		return
	}
	b.WriteString([]string{"1", "-2.50", "true", "false", "null", `"x"`, `"// no comment"`, `"\"{"`, "123456789012345678901"}[w.r.IntN(9)])
}

func (w *writer) plain() any {
	return []any{true, false, nil, 3, "s", []any{}, map[string]any{}, []any{"p", 1}, map[string]any{"x": map[string]any{"y": []any{1, 2}}}}[w.r.IntN(9)]
}
