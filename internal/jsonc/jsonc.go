// Package jsonc edits JSON files that people keep: with comments, trailing
// commas, their own indentation and order. An edit is a splice of the text, so
// that all it doesn't mention stays byte for byte; it is parsed again and
// compared with what was meant before anyone gets it.
//
// A path is a list of names, as in a JSON Pointer (RFC 6901): in a list, an
// element's index, or "-" for the place behind the last one. A file that has a
// name of the path twice is not edited, since readers differ in which they take.
//
// It neither reads nor writes files.
package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// A Document is the text of a JSON file whose top is an object.
type Document struct {
	given []byte // until the first edit
	text  []byte
	root  hujson.Value
	nl    string // line ending
	unit  string // one level of indentation
}

// bom begins files of some editors; it stays where it is.
var bom = []byte("\xef\xbb\xbf")

// maxDepth bounds how deep containers may lie in each other: the parser
// descends by calling itself.
const maxDepth = 1000

// Parse reads a document. A text of nothing but blanks is an empty object.
func Parse(text []byte) (*Document, error) {
	d := &Document{given: text, nl: "\n", unit: "  "}
	if mark, rest := text[:len(text)-len(bytes.TrimPrefix(text, bom))], bytes.TrimPrefix(text, bom); len(bytes.TrimSpace(rest)) == 0 {
		text = slices.Concat(mark, []byte("{}\n"))
	}
	if bytes.Contains(text, []byte("\r\n")) {
		d.nl = "\r\n"
	}
	for line := range strings.Lines(string(text)) {
		rest := strings.TrimLeft(line, " \t")
		if len(rest) < len(line) && strings.TrimSpace(rest) != "" && rest[0] != '*' { // which continues a comment
			d.unit = line[:len(line)-len(rest)]
			break
		}
	}
	return d, d.set(text)
}

func (d *Document) set(text []byte) error {
	bare := slices.Clone(text)
	if bytes.HasPrefix(text, bom) {
		copy(bare, "   ") // as long as the mark, so that offsets stay true
	}
	if depth(bare) > maxDepth {
		return fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	root, err := hujson.Parse(bare)
	if err != nil { // a comment may end the file
		if all, again := hujson.Parse(append(bare, '\n')); again == nil {
			root, err = all, nil
		}
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return errors.New("it is not a JSON object")
	}
	d.text, d.root = text, root
	return nil
}

// depth returns how deep brackets lie in each other.
func depth(text []byte) (deepest int) {
	level := 0
	skip := func(i int, end string) int {
		if n := bytes.Index(text[i:], []byte(end)); n >= 0 {
			return i + n + len(end) - 1
		}
		return len(text)
	}
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case rest[0] == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(rest, []byte("//")):
			i = skip(i, "\n")
		case bytes.HasPrefix(rest, []byte("/*")):
			i = skip(i+2, "*/")
		case rest[0] == '{' || rest[0] == '[':
			level++
			deepest = max(deepest, level)
		case rest[0] == '}' || rest[0] == ']':
			level--
		}
	}
	return deepest
}

// Bytes returns the text: the very bytes that were parsed if no edit changed
// anything.
func (d *Document) Bytes() []byte {
	if d.given != nil {
		return d.given
	}
	return d.text
}

// Get returns the value at path as encoding/json reads it, with numbers as
// [json.Number].
func (d *Document) Get(path ...string) (value any, ok bool) {
	v, err := d.find(path)
	if err != nil || v == nil {
		return nil, false
	}
	return plain(v), true
}

// Has reports whether the value at path means the same as value.
func (d *Document) Has(value any, path ...string) bool {
	b, err := json.Marshal(value)
	v, ok := d.Get(path...)
	return err == nil && ok && reflect.DeepEqual(v, decoded(b))
}

// Line returns the line, from 1, that the value at path begins in; 0 if there
// is none.
func (d *Document) Line(path ...string) int {
	v, err := d.find(path)
	if err != nil || v == nil {
		return 0
	}
	return d.lineOf(v.StartOffset)
}

func (d *Document) lineOf(offset int) int { return bytes.Count(d.text[:offset], []byte("\n")) + 1 }

// Set puts a value at path, with the objects on the way that aren't there. A
// value that means the same already stays as it is written.
func (d *Document) Set(value any, path ...string) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(path) == 0 {
		return errors.New("the whole document can't be replaced")
	}
	v, err := d.find(path)
	switch {
	case err != nil:
		return err
	case d.Has(value, path...):
		return nil
	case v != nil:
		return d.edit(func(all any) any { return put(all, decoded(b), path) }, func() error {
			return d.splice(splice{v.StartOffset, v.EndOffset, d.render(value, d.indentAt(v.StartOffset))})
		})
	}
	n := len(path) - 1 // the part of path that is there
	for ; n > 0; n-- {
		if v, err = d.find(path[:n]); err != nil || v != nil {
			break
		}
	}
	for i := len(path) - 1; i > n; i-- { // the innermost first
		value = holding(path[i], value)
	}
	return d.edit(func(all any) any { return put(all, decoded(b), path) }, func() error {
		return d.add(path[:n], path[n], value)
	})
}

// Delete takes the value at path out, with its comma and not a comment more.
// What isn't there needs no deleting.
func (d *Document) Delete(path ...string) error {
	if len(path) == 0 {
		return errors.New("the whole document can't be deleted")
	}
	v, err := d.find(path)
	if err != nil || v == nil {
		return err
	}
	n := len(path) - 1
	return d.edit(func(all any) any { return drop(all, path) }, func() error {
		parent, err := d.find(path[:n])
		if err != nil {
			return err
		}
		slots, after, err := slotsOf(parent)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(slots, func(s slot) bool { return s.value.StartOffset == v.StartOffset })
		return d.remove(slots, after, i)
	})
}

// Prune deletes the container at path if nothing is in it, not even a comment,
// and then the one around it, up to the first that holds something.
func (d *Document) Prune(path ...string) error {
	for n := len(path); n > 0; n-- {
		v, err := d.find(path[:n])
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		slots, after, err := slotsOf(v)
		if err != nil || len(slots) > 0 || strings.TrimSpace(string(after)) != "" {
			return nil
		}
		if err := d.Delete(path[:n]...); err != nil {
			return err
		}
	}
	return nil
}

// edit does what change does, and makes sure that it gave the value that was
// intended: a text that came out otherwise is not handed on.
func (d *Document) edit(intended func(any) any, change func() error) error {
	before := *d
	want := intended(plain(&d.root))
	err := change()
	if err == nil && !reflect.DeepEqual(plain(&d.root), want) {
		err = errors.New("its text can't be edited safely; change it by hand")
	}
	if err != nil {
		*d = before
		return err
	}
	d.given = nil
	return nil
}

// find returns the value at path; nil if there is none.
func (d *Document) find(path []string) (*hujson.Value, error) {
	v := &d.root
	for i, name := range path {
		var next *hujson.Value
		switch c := v.Value.(type) {
		case *hujson.Object:
			for j := range c.Members {
				m := &c.Members[j]
				if m.Name.Value.(hujson.Literal).String() != name {
					continue
				}
				if next != nil {
					return nil, fmt.Errorf("duplicate key %q (line %d); leave one of the two", strings.Join(path[:i+1], "."), d.lineOf(m.Name.StartOffset))
				}
				next = &m.Value
			}
		case *hujson.Array:
			if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(c.Elements) {
				next = &c.Elements[n]
			}
		}
		if next == nil {
			return nil, nil
		}
		v = next
	}
	return v, nil
}

// put sets a value in a decoded document; the containers on the way are changed.
func put(all, value any, path []string) any {
	if len(path) == 0 {
		return value
	}
	switch c := all.(type) {
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(c) {
			c[i] = put(c[i], value, path[1:])
			return c
		}
		return append(c, put(nil, value, path[1:]))
	case map[string]any:
		c[path[0]] = put(c[path[0]], value, path[1:])
		return c
	}
	return holding(path[0], put(nil, value, path[1:]))
}

// holding is a new container that holds value.
func holding(name string, value any) any {
	if name == "-" {
		return []any{value}
	}
	return map[string]any{name: value}
}

// drop deletes what is at path, which is there.
func drop(all any, path []string) any {
	switch c := all.(type) {
	case []any:
		i, _ := strconv.Atoi(path[0])
		if len(path) == 1 {
			return slices.Delete(c, i, i+1)
		}
		c[i] = drop(c[i], path[1:])
	case map[string]any:
		if len(path) == 1 {
			delete(c, path[0])
		} else {
			c[path[0]] = drop(c[path[0]], path[1:])
		}
	}
	return all
}

// plain returns v without comments, as encoding/json reads it.
func plain(v *hujson.Value) any {
	c := v.Clone()
	c.Standardize()
	return decoded(c.Pack())
}

func decoded(b []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	_ = d.Decode(&v) // it has been parsed
	return v
}
