package whet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decodeObject reads args into the struct v, see [Decode].
func decodeObject(args json.RawMessage, v reflect.Value, fs []field) (notes []string, err error) {
	d := decoder{}
	if err := d.object("", args, v, fs); err != nil {
		return nil, err
	}
	return d.notes, nil
}

type decoder struct{ notes []string }

func (d *decoder) note(format string, a ...any) { d.notes = append(d.notes, fmt.Sprintf(format, a...)) }

// object reads raw into v. at is the path of the object in the arguments,
// empty or ending in a dot, for messages.
func (d *decoder) object(at string, raw json.RawMessage, v reflect.Value, fs []field) error {
	m, err := members(raw, fs)
	if err != nil {
		return fmt.Errorf("%s: %w", label(at), err)
	}
	set := make([]bool, len(fs))
	for _, key := range spellings(m, fs) {
		i := slices.IndexFunc(fs, func(f field) bool { return slices.Contains(f.names, plain(key)) })
		switch {
		case i < 0:
			d.note("ignored unknown parameter %q; known: %s", at+key, known(fs))
		case isNull(m[key]):
		case set[i]:
			d.note("ignored %q, because %q was given too", at+key, at+fs[i].name)
		default:
			if err := d.value(at+fs[i].name, m[key], v.FieldByIndex(fs[i].index), fs[i]); err != nil {
				return err
			}
			set[i] = true
		}
	}
	for i, f := range fs {
		if f.required && !set[i] {
			return fmt.Errorf("missing parameter %q (%s); example: %s", at+f.name, f.doc, f.example())
		}
	}
	return nil
}

// members returns raw's members. A model may wrap the object in a string, or
// leave it out, or give just the value of the one parameter that is required.
func members(raw json.RawMessage, fs []field) (map[string]json.RawMessage, error) {
	raw = unquoted(raw)
	if len(raw) == 0 || isNull(raw) {
		return nil, nil
	}
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	if err == nil {
		return m, nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if f := onlyRequired(fs); f != nil && f.typ.Kind() == reflect.String {
			return map[string]json.RawMessage{f.name: raw}, nil
		}
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, fmt.Errorf("not valid JSON: %w at byte %d", err, syntax.Offset)
	}
	return nil, fmt.Errorf("want a JSON object, got %s; parameters: %s", excerpt(raw), known(fs))
}

func onlyRequired(fs []field) *field {
	var only *field
	for i := range fs {
		if fs[i].required {
			if only != nil {
				return nil
			}
			only = &fs[i]
		}
	}
	return only
}

// spellings orders the keys so that a parameter's own name comes before its
// aliases, and the rest by name: the outcome never depends on map order.
func spellings(m map[string]json.RawMessage, fs []field) []string {
	keys := slices.Sorted(maps.Keys(m))
	exact := func(k string) bool { return slices.ContainsFunc(fs, func(f field) bool { return f.name == k }) }
	slices.SortStableFunc(keys, func(a, b string) int {
		switch ea, eb := exact(a), exact(b); {
		case ea == eb:
			return 0
		case ea:
			return -1
		}
		return 1
	})
	return keys
}

func (d *decoder) value(name string, raw json.RawMessage, v reflect.Value, f field) error {
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		if err := d.value(name, raw, p.Elem(), f); err != nil {
			return err
		}
		v.Set(p)
		return nil
	}
	switch {
	case v.Type() == rawType:
		v.SetBytes(unquoted(raw))
		return nil
	case v.Kind() == reflect.Struct:
		return d.object(name+".", raw, v, f.sub)
	case v.Kind() == reflect.Slice:
		return d.list(name, raw, v, f)
	}
	s, ok := scalar(raw)
	if ok {
		switch v.Kind() {
		case reflect.String:
			ok = d.text(s, v, f)
		case reflect.Bool:
			b, err := strconv.ParseBool(strings.ToLower(s))
			ok = err == nil
			v.SetBool(b)
		default:
			ok = d.number(name, s, v, f)
		}
	}
	if !ok {
		return fmt.Errorf("parameter %q must be %s, got %s; example: %s", name, f.wants(v.Type()), excerpt(raw), f.example())
	}
	return nil
}

func (d *decoder) list(name string, raw json.RawMessage, v reflect.Value, f field) error {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil && json.Unmarshal(unquoted(raw), &items) != nil {
		items = []json.RawMessage{raw} // one value where a list is wanted
	}
	out := reflect.MakeSlice(v.Type(), 0, len(items))
	for i, it := range items {
		el := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(fmt.Sprintf("%s[%d]", name, i), it, el, f); err != nil {
			return err
		}
		out = reflect.Append(out, el)
	}
	v.Set(out)
	return nil
}

func (d *decoder) text(s string, v reflect.Value, f field) bool {
	if len(f.enum) > 0 {
		i := slices.IndexFunc(f.enum, func(e string) bool { return strings.EqualFold(e, s) })
		if i < 0 {
			return false
		}
		s = f.enum[i]
	}
	v.SetString(s)
	return true
}

func (d *decoder) number(name, s string, v reflect.Value, f field) bool {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return false
	}
	if f.min != nil && n < *f.min {
		d.note("%s %s is under the minimum, used %v", name, s, *f.min)
		n = *f.min
	}
	if f.max != nil && n > *f.max {
		d.note("%s %s is over the maximum, used %v", name, s, *f.max)
		n = *f.max
	}
	if v.Kind() == reflect.Float64 {
		v.SetFloat(n)
		return true
	}
	if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return false
	}
	v.SetInt(int64(n))
	return true
}

// scalar returns the text of a JSON string, number or boolean, or of the only
// element of a list.
func scalar(raw json.RawMessage) (string, bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		if len(list) != 1 {
			return "", false
		}
		return scalar(list[0])
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	t := bytes.TrimSpace(raw)
	if len(t) == 0 || t[0] == '{' || t[0] == 'n' {
		return "", false
	}
	return string(t), true
}

// unquoted returns the JSON inside a JSON string that holds an object or a
// list, and raw itself otherwise.
func unquoted(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	inner := strings.TrimSpace(s)
	if inner == "" || inner[0] != '{' && inner[0] != '[' || !json.Valid([]byte(inner)) {
		return raw
	}
	return json.RawMessage(inner)
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func known(fs []field) string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.name
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func label(at string) string {
	if at == "" {
		return "bad arguments"
	}
	return fmt.Sprintf("parameter %q", strings.TrimSuffix(at, "."))
}

func (f field) wants(t reflect.Type) string {
	switch {
	case len(f.enum) > 0:
		return "one of " + strings.Join(f.enum, ", ")
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "a whole number"
	}
	return "a string"
}

// example shows the parameter with a value that would do.
func (f field) example() string {
	v := any(f.eg)
	switch {
	case f.eg == "" && len(f.enum) > 0:
		v = f.enum[0]
	case f.eg == "":
		v = "..."
	}
	switch element(f.typ).Kind() {
	case reflect.Int, reflect.Int64, reflect.Float64:
		v = json.Number(orElse(f.eg, "10"))
	case reflect.Bool:
		v = true
	case reflect.Struct:
		v = struct{}{}
	}
	if f.typ.Kind() == reflect.Slice && f.typ != rawType {
		v = []any{v}
	}
	b, err := json.Marshal(map[string]any{f.name: v})
	if err != nil {
		return fmt.Sprintf("{%q: ...}", f.name)
	}
	return string(b)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// excerpt shows what came, cut to a length that a message can bear.
func excerpt(raw json.RawMessage) string {
	const most = 60
	s := strings.ToValidUTF8(string(bytes.TrimSpace(raw)), "\uFFFD")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}
