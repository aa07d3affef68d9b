package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A document is the text of a JSON file, which may have comments and trailing
// commas. Edits are splices of the text: what they don't mention stays as the
// person wrote it.
type document struct {
	text []byte
	root hujson.Value
	nl   string // line ending
	unit string // one level of indentation
}

// utf8BOM begins files of some editors; it stays where it is.
var utf8BOM = []byte("\xef\xbb\xbf")

func parseDocument(text []byte) (*document, error) {
	d := &document{nl: "\n", unit: "  "}
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, utf8BOM))) == 0 {
		text = []byte("{}\n")
	}
	if bytes.Contains(text, []byte("\r\n")) {
		d.nl = "\r\n"
	}
	for line := range strings.Lines(string(text)) {
		if rest := strings.TrimLeft(line, " \t"); len(rest) < len(line) && strings.TrimSpace(rest) != "" {
			d.unit = line[:len(line)-len(rest)]
			break
		}
	}
	return d, d.set(text)
}

func (d *document) set(text []byte) error {
	bare := text
	if bytes.HasPrefix(text, utf8BOM) {
		// Blanks keep the offsets.
		bare = append([]byte("   "), text[len(utf8BOM):]...)
	}
	root, err := hujson.Parse(bare)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return errors.New("it is not a JSON object")
	}
	d.text, d.root = text, root
	return nil
}

// splice replaces text[from:to].
type splice struct {
	from, to int
	text     string
}

func (d *document) splice(all ...splice) error {
	slices.SortFunc(all, func(a, b splice) int { return b.from - a.from })
	text := slices.Clone(d.text)
	for _, s := range all {
		text = slices.Concat(text[:s.from], []byte(s.text), text[s.to:])
	}
	return d.set(text)
}

// A slot is one member of an object or element of an array, in one form.
type slot struct {
	name   string // of a member
	start  int    // of the name or, in an array, of the value
	before string // comments and blanks before it
	value  *hujson.Value
}

// slots lists what a container has, and the text between the last of them and
// the closing bracket.
func slots(v *hujson.Value) (all []slot, after hujson.Extra, err error) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			all = append(all, slot{m.Name.Value.(hujson.Literal).String(), m.Name.StartOffset, string(m.Name.BeforeExtra), &m.Value})
		}
		return all, c.AfterExtra, nil
	case *hujson.Array:
		for i := range c.Elements {
			e := &c.Elements[i]
			all = append(all, slot{"", e.StartOffset, string(e.BeforeExtra), e})
		}
		return all, c.AfterExtra, nil
	}
	return nil, nil, errors.New("it is neither an object nor a list")
}

// find returns the value at path, nil if there is none.
func (d *document) find(path ...string) *hujson.Value {
	v := &d.root
	for _, name := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		v = nil
		for i := range o.Members { // of two with one name, the last one counts
			if o.Members[i].Name.Value.(hujson.Literal).String() == name {
				v = &o.Members[i].Value
			}
		}
		if v == nil {
			return nil
		}
	}
	return v
}

// add puts a new last slot into the container at path; name is "" in a list.
func (d *document) add(path []string, name string, value any) error {
	v := d.find(path...)
	all, after, err := slots(v)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(path, "."), err)
	}
	outer := d.indentAt(v.EndOffset)
	inner := outer + d.unit
	whole := string(d.text[v.StartOffset:v.EndOffset])
	lines := strings.Contains(whole, "\n") || len(all) == 0
	if len(all) > 0 && lines {
		inner = d.indentAt(all[0].start)
	}
	text := d.render(value, inner)
	if !lines {
		text = d.render(value, "\x00")
	}
	if name != "" {
		text = quoteJSON(name) + ": " + text
	}
	if len(all) == 0 {
		at := v.EndOffset - 1
		kept := at - (len(after) - len(strings.TrimRight(string(after), " \t\r\n")))
		return d.splice(splice{kept, at, d.nl + inner + text + d.nl + outer})
	}
	last := all[len(all)-1].value
	if last.AfterExtra != nil { // a comma is there already
		at := last.EndOffset + len(last.AfterExtra) + 1
		at += len(strings.TrimRight(string(after), " \t\r\n"))
		return d.splice(splice{at, at, d.gap(lines, inner) + text + ","})
	}
	at := last.EndOffset + len(strings.TrimRight(string(after), " \t\r\n"))
	if at == last.EndOffset {
		return d.splice(splice{at, at, "," + d.gap(lines, inner) + text})
	}
	return d.splice(splice{last.EndOffset, last.EndOffset, ","}, splice{at, at, d.gap(lines, inner) + text})
}

func (d *document) gap(lines bool, indent string) string {
	if lines {
		return d.nl + indent
	}
	return " "
}

// indentAt returns the white space that the line around an offset begins with.
func (d *document) indentAt(offset int) string {
	line := d.text[bytes.LastIndexByte(d.text[:offset], '\n')+1:]
	line = bytes.TrimPrefix(line, utf8BOM)
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// render writes value as JSON, indented from the second line on; on one line if
// indent is "\x00".
func (d *document) render(value any, indent string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indent != "\x00" {
		e.SetIndent(indent, d.unit)
	}
	_ = e.Encode(value) // our own values always marshal
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", d.nl)
}

func quoteJSON(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

// replace gives a slot a new value.
func (d *document) replace(s slot, value any) error {
	return d.splice(splice{s.value.StartOffset, s.value.EndOffset, d.render(value, d.indentAt(s.start))})
}

// remove takes slot i out of the container at path, with its comma and not a
// comment more.
func (d *document) remove(path []string, i int) error {
	all, after, err := slots(d.find(path...))
	if err != nil {
		return err
	}
	s := all[i]
	comment := strings.TrimRight(s.before, " \t\r\n")
	cut := splice{s.start - len(s.before) + len(comment), s.value.EndOffset, ""}
	comma := s.value.EndOffset + len(s.value.AfterExtra)
	var others []splice
	switch hasComma := i < len(all)-1 || s.value.AfterExtra != nil; {
	case hasComma && len(s.value.AfterExtra) == 0:
		cut.to = comma + 1
	case hasComma:
		others = append(others, splice{comma, comma + 1, ""})
	case i > 0:
		prev := all[i-1].value
		at := prev.EndOffset + len(prev.AfterExtra)
		others = append(others, splice{at, at + 1, ""})
	case strings.TrimSpace(string(after)) == "":
		cut.to += len(after)
	}
	lastLine := comment[strings.LastIndexByte(comment, '\n')+1:]
	rest := strings.TrimLeft(string(d.text[cut.to:]), " \t\r")
	if strings.Contains(lastLine, "//") && !strings.HasPrefix(rest, "\n") {
		cut.text = d.nl // which ends the comment
	}
	return d.splice(append(others, cut)...)
}

// equal reports whether v means the same as value.
func equal(v *hujson.Value, value any) bool {
	want, err := json.Marshal(value)
	if err != nil {
		return false
	}
	return reflect.DeepEqual(plain(v), decoded(want))
}

// plain returns v without comments, as encoding/json reads it.
func plain(v *hujson.Value) any {
	c := v.Clone()
	c.Standardize()
	return decoded(c.Pack())
}

func decoded(b []byte) (v any) {
	_ = json.Unmarshal(b, &v) // it has been parsed
	return v
}
