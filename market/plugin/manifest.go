package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whet-dev/whet/internal/lazyregexp"
)

// schemas are the versions of the Agent Plugin format that are known, each with
// the top-level fields that it has. A schema is never fetched.
var schemas = map[string][]string{
	"1.0.0": {"$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions"},
	"1.1.0": {"$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions", "displayName", "icon"},
}

// SchemaID is the identifier of a file's schema, "plugin" or "mcp", in a version
// of the format.
func SchemaID(file, version string) string {
	return "https://agent-plugins.org/schemas/" + version + "/" + file + ".schema.json"
}

// Schema is the version of the format that whet writes.
const Schema = "1.0.0"

// schemaVersion is the version whose identifier id is; "" is unknown.
func schemaVersion(file, id string) string {
	for v := range schemas {
		if id == SchemaID(file, v) {
			return v
		}
	}
	return ""
}

var (
	pluginName = lazyregexp.New(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	semver     = lazyregexp.New(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	packageID  = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,63}/[a-z0-9][a-z0-9._-]{0,63}$`)
)

// ValidName reports whether s may be the name in a manifest.
func ValidName(s string) bool {
	return len(s) <= 64 && pluginName.MatchString(s) && !strings.Contains(s, "--") && !strings.Contains(s, "..")
}

// ValidVersion reports whether s is exactly a semantic version.
func ValidVersion(s string) bool { return len(s) <= 128 && semver.MatchString(s) }

// manifest reads plugin.json, and returns the version of the format.
func (p *parser) manifest(data []byte) (version string, err error) {
	root, err := parseJSON(Manifest, data)
	if err != nil {
		return "", err
	}
	id, ok := root.get("$schema")
	if !ok {
		return "", root.fail("$schema is missing; want %q", SchemaID("plugin", Schema))
	}
	s, err := id.text()
	if err != nil {
		return "", err
	}
	if version = schemaVersion("plugin", s); version == "" {
		return "", id.fail("%q is none of the schemas that are known; want %q", cut(s, 100), SchemaID("plugin", Schema))
	}
	fields, _ := root.object()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(schemas[version], name) {
			p.note("unknown-field", Manifest, "%q is no field of the format, and ignored", cut(name, 64))
		}
	}
	if err := p.fields(root, version); err != nil {
		return "", err
	}
	ext, ok := root.get("extensions")
	if !ok {
		return version, p.identify("")
	}
	if _, isObject := ext.v.(map[string]any); !isObject {
		p.note("invalid-extensions", Manifest, "extensions is no object, and ignored")
		return version, p.identify("")
	}
	own, ok := ext.get(Namespace)
	if !ok {
		return version, p.identify("")
	}
	return version, p.extension(own)
}

// fields reads the portable fields. Any that isn't right makes the manifest
// invalid.
func (p *parser) fields(root value, version string) error {
	name, ok := root.get("name")
	if !ok {
		return root.fail("name is missing")
	}
	var err error
	if p.p.Name, err = name.text(); err != nil {
		return err
	}
	if !ValidName(p.p.Name) {
		return name.fail("want up to 64 of a-z, 0-9, - and ., beginning and ending with a letter or digit, without -- and .., not %q", cut(p.p.Name, 80))
	}
	if err := root.strs(
		to{"version", &p.p.Version}, to{"description", &p.p.Description}, to{"homepage", &p.p.Homepage},
		to{"license", &p.p.License}, to{"repository", new(string)},
	); err != nil {
		return err
	}
	if version != "1.0.0" {
		if p.p.Title, err = root.str("displayName"); err != nil {
			return err
		}
		if _, err = root.str("icon"); err != nil {
			return err
		}
	}
	if _, err := root.list("keywords"); err != nil {
		return err
	}
	if author, ok := root.get("author"); ok {
		if p.p.Author, err = authorOf(author); err != nil {
			return err
		}
	}
	p.p.Description = oneLine(p.p.Description)
	if short := cut(p.p.Description, maxDescription); short != p.p.Description {
		p.note("description-cut", Manifest, "the description has more than %d characters", maxDescription)
		p.p.Description = short
	}
	return nil
}

func authorOf(v value) (string, error) {
	m, err := v.object()
	if err != nil {
		return "", err
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		field, _ := v.get(key)
		if !slices.Contains([]string{"name", "email", "url"}, key) {
			return "", field.fail("an author has only a name, email and url")
		}
		if _, err := field.text(); err != nil {
			return "", err
		}
	}
	name, _ := v.str("name")
	email, _ := v.str("email")
	switch {
	case name == "":
		return oneLine(email), nil
	case email == "":
		return oneLine(name), nil
	}
	return oneLine(fmt.Sprintf("%s <%s>", name, email)), nil
}

// identify sets what names the package: its id, title and version. A version
// that can't be ordered is replaced by one that the files make.
func (p *parser) identify(id string) error {
	p.p.ID = id
	if id == "" {
		p.p.ID = "local/" + p.p.Name
	}
	if p.p.Title == "" {
		p.p.Title = p.p.Name
	}
	p.p.Title = cut(oneLine(p.p.Title), 120)
	p.p.Versioned = ValidVersion(p.p.Version)
	if !p.p.Versioned {
		if p.p.Version != "" {
			p.note("version-not-semver", Manifest, "%q is no exact semantic version; updates compare the files instead", cut(p.p.Version, 64))
		}
		p.p.Version = "0.0.0+" + strings.TrimPrefix(p.t.Digest(), "sha256:")[:12]
	}
	return nil
}
