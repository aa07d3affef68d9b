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

func TestLines(t *testing.T) {
	rows := map[string]string{
		"plain é 世界\tx\r\ny\n":   "plain é 世界\tx\ny\n",
		"\x1b[31mred\x07":        "␛[31mred␇",
		"over\rwritten":          "over␍written",
		"\u009b31m":              "\ufffd31m",
		"caf\xe9":                "caf\ufffd",
		"a\u202egnp.exe":         "a\ufffdgnp.exe",
		"if a\u2066 == b\u2069":  "if a\ufffd == b\ufffd",
		"pass\u200bword":         "pass\ufffdword",
		"x\U000e0041\U000e0100y": "x\ufffd\ufffdy",
		"line\u2028break":        "line\ufffdbreak",
		"می\u200cخواهم 👩\u200d🚀": "می\u200cخواهم 👩\u200d🚀",
		"a\u200db":               "a\ufffdb",
	}
	for in, want := range rows {
		if got := Lines(in); got != want {
			t.Errorf("Lines(%q) = %q, want %q", in, got, want)
		}
	}
}
