package main

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func TestOld(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1.18.32", "1.18.33", true},
		{"1.18.33", "1.18.33", false},
		{"1.19.0", "1.18.33", false},
		{"1.9.0", "1.18.33", true},
		{"2", "1.18.33", false},
		{"1.18", "1.18.33", true},
		{"0.171.0", "", false},
	} {
		if got := old(c.a, c.b); got != c.want {
			t.Errorf("old(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// A program that isn't what the configuration takes it for is one sentence.
func TestDialogue(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	for script, want := range map[string]string{
		"exit 1":                            "it ended without an answer: ",
		"echo hello; cat":                   `it printed "hello\n"`,
		`echo '{"id":1,"error":"no"}'; cat`: `it answered "no"`,
		`echo '{"method":"x"}'; echo '{"id":7,"result":0}'; echo '{"id":1,"result":5}'; cat`: "",
	} {
		result, err := dialogue(context.Background(), exec.Command("sh", "-c", script), `{"id":1,"method":"m"}`)
		switch {
		case want == "" && (err != nil || string(result) != "5"):
			t.Errorf("%s: %s, %v", script, result, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
}
