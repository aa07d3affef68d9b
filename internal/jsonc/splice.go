package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A splice replaces text[from:to].
type splice struct {
	from, to int
	text     string
}

func (d *Document) splice(all ...splice) error {
	slices.SortFunc(all, func(a, b splice) int { return b.from - a.from })
	text := slices.Clone(d.text)
	for _, s := range all {
		text = slices.Concat(text[:s.from], []byte(s.text), text[s.to:])
	}
	return d.set(text)
}

// A slot is one member of an object or element of an array, in one form.
type slot struct {
	start  int    // of the name or, in an array, of the value
	before string // comments and blanks before it
	value  *hujson.Value
}

// slotsOf lists what a container has, and the text between the last of them and
// the closing bracket.
func slotsOf(v *hujson.Value) (all []slot, after hujson.Extra, err error) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			all = append(all, slot{m.Name.StartOffset, string(m.Name.BeforeExtra), &m.Value})
		}
		return all, c.AfterExtra, nil
	case *hujson.Array:
		for i := range c.Elements {
			e := &c.Elements[i]
			all = append(all, slot{e.StartOffset, string(e.BeforeExtra), e})
		}
		return all, c.AfterExtra, nil
	case hujson.Literal:
		if c.Kind() == 'n' {
			return nil, nil, errors.New("it is null; remove it first")
		}
	}
	return nil, nil, errors.New("it is neither an object nor a list")
}

// add puts a new last slot into the container at path: behind the comments that
// follow the last one, since they are about what stands before.
func (d *Document) add(path []string, name string, value any) error {
	v, err := d.find(path)
	if err != nil {
		return err
	}
	all, after, err := slotsOf(v)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(path, "."), err)
	}
	_, list := v.Value.(*hujson.Array)
	if list && name != "-" {
		return fmt.Errorf("%s is a list and has no %s", strings.Join(path, "."), name)
	}
	outer := d.indentAt(v.EndOffset)
	inner := outer + d.unit
	lines := bytes.Contains(d.text[v.StartOffset:v.EndOffset], []byte("\n")) || len(all) == 0
	if len(all) > 0 && lines {
		inner = d.indentAt(all[0].start)
	}
	text := d.render(value, inner)
	if !lines {
		text = d.render(value, oneLine)
	}
	if !list {
		text = quote(name) + ": " + text
	}
	if len(all) == 0 {
		at := v.EndOffset - 1
		kept := at - (len(after) - len(bytes.TrimRight(after, blanks)))
		return d.splice(splice{kept, at, d.nl + inner + text + d.nl + outer})
	}
	gap := " "
	if lines {
		gap = d.nl + inner
	}
	last := all[len(all)-1].value
	comments := len(bytes.TrimRight(after, blanks))
	if last.AfterExtra != nil { // a comma is there already
		at := last.EndOffset + len(last.AfterExtra) + 1 + comments
		return d.splice(splice{at, at, gap + text + ","})
	}
	if at := last.EndOffset + comments; comments > 0 {
		return d.splice(splice{last.EndOffset, last.EndOffset, ","}, splice{at, at, gap + text})
	}
	return d.splice(splice{last.EndOffset, last.EndOffset, "," + gap + text})
}

const (
	blanks  = " \t\r\n"
	oneLine = "\x00" // for an indent
)

// indentAt returns the white space that the line around an offset begins with.
func (d *Document) indentAt(offset int) string {
	line := d.text[bytes.LastIndexByte(d.text[:offset], '\n')+1:]
	line = bytes.TrimPrefix(line, bom)
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// render writes value as JSON, indented from the second line on.
func (d *Document) render(value any, indent string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indent != oneLine {
		e.SetIndent(indent, d.unit)
	}
	_ = e.Encode(value) // it has been marshalled before
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", d.nl)
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always marshals
	return strings.TrimSuffix(b.String(), "\n")
}

// remove takes slot i out of its container, with its comma and not a comment
// more.
func (d *Document) remove(all []slot, after hujson.Extra, i int) error {
	s := all[i]
	comment := strings.TrimRight(s.before, blanks)
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
