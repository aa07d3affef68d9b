package escape

import "testing"

func TestText(t *testing.T) {
	rows := map[string]string{
		"plain\ttab":      "plain\ttab",
		"é ü 漢":           "é ü 漢",
		"\x1b[31m":        `\x1b[31m`,
		"a\nb\r":          `a\nb\r`,
		"caf\xe9":         `caf\xe9`,
		"\u202egnp.exe":   `\u202egnp.exe`,
		"\x9b31m\u009b":   `\x9b31m\u009b`,
		"zero\u200bwidth": `zero\u200bwidth`,
	}
	for in, want := range rows {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}
