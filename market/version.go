package market

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// compare orders two semantic versions, without their build.
func compare(a, b string) int { return semver.Compare("v"+a, "v"+b) }

// A bound is one side of a range of versions.
type bound struct{ op, version string }

// within reports whether a version is in a range: bounds that hold all, such as
// ">=0.1 <1" or ">=0.1, <1". A version without an operator means itself, and one
// that is cut short means all that begin so.
func within(version, want string) (bool, error) {
	for _, part := range strings.FieldsFunc(want, func(r rune) bool { return r == ' ' || r == ',' }) {
		b := bound{version: strings.TrimLeft(part, "<>=^~")}
		b.op = part[:len(part)-len(b.version)]
		if !semver.IsValid("v" + b.version) {
			return false, fmt.Errorf("%q is no version", part)
		}
		ok, known := b.holds(version)
		if !known {
			return false, fmt.Errorf("%q is none of =, >, >=, <, <=, ^ and ~", b.op)
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

func (b bound) holds(version string) (ok, known bool) {
	order := compare(version, b.version)
	major := semver.Major("v"+version) == semver.Major("v"+b.version)
	minor := semver.MajorMinor("v"+version) == semver.MajorMinor("v"+b.version)
	switch b.op {
	case "", "=":
		switch strings.Count(b.version, ".") {
		case 0:
			return major, true
		case 1:
			return minor, true
		}
		return order == 0, true
	case ">":
		return order > 0, true
	case ">=":
		return order >= 0, true
	case "<":
		return order < 0, true
	case "<=":
		return order <= 0, true
	case "^": // what must not change is the first number that isn't 0
		return order >= 0 && major && (minor || semver.Major("v"+version) != "v0"), true
	case "~":
		return order >= 0 && minor, true
	}
	return false, false
}
