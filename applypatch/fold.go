package applypatch

import (
	"bytes"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// likeness says how a patch line equals a file line, best first.
type likeness uint8

const (
	same      likeness = iota // byte for byte
	sameRight                 // but for white space at the end
	sameFold                  // but for typography too: quotes, dashes, spaces, composed accents
	sameTrim                  // but for indentation too
	sameBlind                 // but for white space anywhere
	different
)

const lineSpace = " \t\r\f\v"

// fold replaces typography by its ASCII twin: what an editor, a chat window or
// a model changes in passing. The map is the union of those of the Codex and
// OpenCode appliers, so whatever they accept is accepted here.
func fold(s string) string {
	if ascii(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 0x2018 && r <= 0x201b:
			b.WriteByte('\'')
		case r >= 0x201c && r <= 0x201f:
			b.WriteByte('"')
		case r >= 0x2010 && r <= 0x2015, r == 0x2212:
			b.WriteByte('-')
		case r == 0x2026:
			b.WriteString("...")
		case r == 0xa0, r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
			b.WriteByte(' ')
		case r >= 0x200b && r <= 0x200d, r == 0xfeff:
		default:
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

func ascii[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// squeeze trims s and makes every run of white space in it one space.
func squeeze(s string) string {
	if !strings.ContainsAny(s, "\t\r\f\v") && !strings.Contains(s, "  ") {
		return strings.Trim(s, " ")
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && strings.ContainsRune(lineSpace, r) }), " ")
}

// key is a patch line in the forms that it is compared in.
type key struct {
	raw, right, folded, trimmed, blind string
	hash                               uint64
	weight                             float64
}

func newKey(s string) key {
	k := key{raw: s, right: strings.TrimRight(s, lineSpace)}
	k.folded = strings.TrimRight(fold(k.right), lineSpace)
	k.trimmed = strings.TrimLeft(k.folded, lineSpace)
	k.blind = squeeze(k.trimmed)
	k.hash = hash([]byte(s))
	k.weight = weight(k.trimmed)
	return k
}

// weight is how much a line says about where it stands: nothing if blank,
// little if only punctuation, else all.
func weight(trimmed string) float64 {
	if trimmed == "" {
		return 0
	}
	if strings.ContainsFunc(trimmed, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return 1
	}
	return 0.25
}

// like compares a patch line with a file line. Only the first two likenesses
// are looked for when the file isn't valid UTF-8: the rest would have to guess
// at its encoding.
func (k *key) like(f []byte, utf8 bool) likeness {
	if string(f) == k.raw {
		return same
	}
	right := bytes.TrimRight(f, lineSpace)
	if string(right) == k.right {
		return sameRight
	}
	if !utf8 {
		return different
	}
	folded := strings.TrimRight(fold(string(right)), lineSpace)
	if folded == k.folded {
		return sameFold
	}
	trimmed := strings.TrimLeft(folded, lineSpace)
	if trimmed == k.trimmed {
		return sameTrim
	}
	if squeeze(trimmed) == k.blind {
		return sameBlind
	}
	return different
}

// hash maps lines that are alike in any way but different to one value.
func hash(line []byte) uint64 {
	var h uint64
	for _, c := range line {
		if c >= utf8.RuneSelf {
			return hashFolded(line)
		}
		if c > ' ' {
			h = mix(h, c)
		}
	}
	return h
}

func hashFolded(line []byte) (h uint64) {
	if !utf8.Valid(line) {
		for _, c := range bytes.TrimRight(line, lineSpace) {
			if c > ' ' {
				h = mix(h, c)
			}
		}
		return h
	}
	s := fold(string(line))
	for i := range len(s) {
		if c := s[i]; c > ' ' {
			h = mix(h, c)
		}
	}
	return h
}

func mix(h uint64, c byte) uint64 {
	return bits.RotateLeft64(h, 7) ^ uint64(c)*0x9e3779b97f4a7c15
}

// dice is the share of character pairs that two lines have in common, 0 to 1.
func dice(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	if l, s := max(len(a), len(b)), min(len(a), len(b)); 2*s < l-s {
		return 0 // can't reach 0.5 of the longer line's pairs
	}
	var pairs [1024]int16
	slot := func(s string, i int) *int16 {
		return &pairs[(uint(s[i])*37+uint(s[i+1])*101)&1023]
	}
	for i := range len(a) - 1 {
		*slot(a, i)++
	}
	common := 0
	for i := range len(b) - 1 {
		if p := slot(b, i); *p > 0 {
			*p--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-2)
}
