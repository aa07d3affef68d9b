package cli

import "testing"

func TestVersion(t *testing.T) {
	for of, want := range map[string]string{
		"v0.2.1":                             "0.2.1",
		"v0.2.0-rc.1":                        "0.2.0-rc.1",
		"v0.2.1+dirty":                       "0.2.1",
		"v0.0.0-20261201064501-586011e77b4a": "0.1.0-dev",
		"v0.2.2-0.20261201064501-586011e77b4a+dirty": "0.1.0-dev",
		"(devel)": "0.1.0-dev",
		"":        "0.1.0-dev",
	} {
		if got := version(of); got != want {
			t.Errorf("%q is %q, want %q", of, got, want)
		}
	}
}
