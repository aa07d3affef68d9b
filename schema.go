package whet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A Schema is the part of JSON Schema that every model vendor accepts: an
// object with named properties at the top, one type at each place, no
// references, unions or nulls. Vendors reject a whole tool list for less.
type Schema struct {
	Type        string     `json:"type"`
	Description string     `json:"description,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Minimum     *float64   `json:"minimum,omitempty"`
	Maximum     *float64   `json:"maximum,omitempty"`
	Items       *Schema    `json:"items,omitempty"`
	Properties  Properties `json:"properties,omitzero"`
	Required    []string   `json:"required,omitempty"`

	// Values is the schema of each value of a map. Configuration has maps;
	// tools don't, because some vendors refuse them.
	Values *Schema `json:"additionalProperties,omitempty"`
	// UserOnly marks a setting that a project's own file can't make: a
	// repository must not choose what runs or where secrets go.
	UserOnly bool `json:"-"`
	// Trusted marks one that runs programs: a project's own file can make it once
	// a person has trusted the project.
	Trusted bool `json:"-"`
}

// SchemaOf returns the schema of a struct tagged as for [New].
func SchemaOf[T any]() *Schema { return objectSchema(fieldsOf(reflect.TypeFor[T]())) }

// Properties are named schemas in a fixed order, a JSON object.
type Properties []Property

// A Property is one parameter.
type Property struct {
	Name   string
	Schema *Schema
}

// MarshalJSON writes the properties as an object, in order.
func (ps Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil, err
		}
		schema, err := json.Marshal(p.Schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(schema)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// field is one parameter of a tool, as its struct field declares it.
type field struct {
	index    []int // of the struct field, through embedded structs
	name     string
	names    []string // plain spellings: the name's and its aliases'
	doc, eg  string
	required bool
	userOnly bool
	trusted  bool
	inline   bool // a map of all members that have no field
	enum     []string
	min, max *float64
	typ      reflect.Type
	sub      []field // of a struct, or of the structs in a list
}

// fieldsOf reads the parameters off a struct type. It panics on a type that no
// schema can say: a programming error that the first use of the tool meets.
func fieldsOf(t reflect.Type) []field {
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("whet: %v is not a struct", t))
	}
	var fs []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		inline := sf.Tag.Get("inline") == "true"
		if sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct {
			for _, f := range fieldsOf(sf.Type) {
				f.index = append([]int{i}, f.index...)
				fs = append(fs, f)
			}
			continue
		}
		if !sf.IsExported() || name == "-" && !inline {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		f := field{
			index: []int{i}, name: name, typ: sf.Type,
			doc: sf.Tag.Get("doc"), eg: sf.Tag.Get("eg"),
			names:    []string{plain(name)},
			userOnly: sf.Tag.Get("layer") == "user",
			trusted:  sf.Tag.Get("layer") == "trusted",
			inline:   inline,
			required: !strings.Contains(opts, "omitempty") && !strings.Contains(opts, "omitzero"),
			min:      bound(sf.Tag.Get("min")), max: bound(sf.Tag.Get("max")),
		}
		if s := sf.Tag.Get("enum"); s != "" {
			f.enum = strings.Split(s, ",")
		}
		if s := sf.Tag.Get("alias"); s != "" {
			for a := range strings.SplitSeq(s, ",") {
				f.names = append(f.names, plain(a))
			}
		}
		if el := element(sf.Type); el.Kind() == reflect.Struct {
			f.sub = fieldsOf(el)
		}
		fs = append(fs, f)
	}
	return fs
}

// element strips pointers, lists and maps.
func element(t reflect.Type) reflect.Type {
	switch k := t.Kind(); {
	case t == rawType:
		return t
	case k == reflect.Pointer || k == reflect.Slice || k == reflect.Map:
		return element(t.Elem())
	}
	return t
}

func bound(s string) *float64 {
	if s == "" {
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(fmt.Sprintf("whet: bad bound %q", s))
	}
	return &v
}

// plain is a parameter name without case and separators, so that file_path,
// filePath and -file-path are one.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == ' ':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

var rawType = reflect.TypeFor[json.RawMessage]()

func objectSchema(fs []field) *Schema {
	s := &Schema{Type: "object", Properties: Properties{}}
	for _, f := range fs {
		if f.inline {
			s.Values = f.schema(f.typ).Values
			continue
		}
		s.Properties = append(s.Properties, Property{f.name, f.schema(f.typ)})
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

func (f field) schema(t reflect.Type) *Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := &Schema{Description: f.doc, Enum: f.enum, Minimum: f.min, Maximum: f.max, UserOnly: f.userOnly, Trusted: f.trusted}
	switch k := t.Kind(); {
	case t == rawType:
		s.Type = "object"
	case k == reflect.String:
		s.Type = "string"
	case k == reflect.Bool:
		s.Type = "boolean"
	case k == reflect.Int || k == reflect.Int64:
		s.Type = "integer"
	case k == reflect.Float64:
		s.Type = "number"
	case k == reflect.Struct:
		s = objectSchema(f.sub)
		s.Description, s.UserOnly = f.doc, f.userOnly
	case k == reflect.Slice:
		item := f
		item.doc = ""
		s = &Schema{Type: "array", Description: f.doc, Items: item.schema(t.Elem()), UserOnly: f.userOnly, Trusted: f.trusted}
	case k == reflect.Map:
		item := f
		item.doc = ""
		s = &Schema{Type: "object", Description: f.doc, Values: item.schema(t.Elem()), UserOnly: f.userOnly, Trusted: f.trusted}
	default:
		panic(fmt.Sprintf("whet: parameter %s: a schema can't say %v", f.name, t))
	}
	return s
}
