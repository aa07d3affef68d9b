package similar_test

import (
	"testing"

	"github.com/whet-dev/whet/internal/similar"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"server", "server", 0},
		{"", "abc", 3},
		{"sever", "server", 1},
		{"kitten", "sitting", 3},
		{"config", "cofnig", 1}, // neighbours swapped
		{"ca", "abc", 3},        // no letter is moved twice
		{"loopguard", "loop", 5},
	} {
		if got := similar.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := similar.Distance(tt.b, tt.a); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
