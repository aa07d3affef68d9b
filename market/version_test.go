package market

import "testing"

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		version, want string
		in            bool
	}{
		{"0.1.0", "", true},
		{"0.1.0", ">=0.1 <1", true},
		{"0.1.0", ">=0.1, <1", true},
		{"1.0.0", ">=0.1 <1", false},
		{"0.0.9", ">=0.1 <1", false},
		{"0.10.0", ">0.9", true},
		{"0.9.0", ">0.9", false},
		{"1.2.3", "<=1.2.3", true},
		{"1.2.3", "1.2.3", true},
		{"1.2.3", "=1.2", true},
		{"1.3.0", "1.2", false},
		{"1.3.0", "1", true},
		{"1.9.0", "^1.2", true},
		{"2.0.0", "^1.2", false},
		{"1.1.0", "^1.2", false},
		{"0.2.5", "^0.2.1", true},
		{"0.3.0", "^0.2.1", false},
		{"1.2.9", "~1.2.3", true},
		{"1.3.0", "~1.2.3", false},
	} {
		if in, err := within(tt.version, tt.want); err != nil || in != tt.in {
			t.Errorf("%s in %q: %v, %v", tt.version, tt.want, in, err)
		}
	}
	for _, want := range []string{"x", ">=", "=>1", "1.2.3.4", "1 || 2", ">=01"} {
		if _, err := within("1.0.0", want); err == nil {
			t.Errorf("%q is taken for a range", want)
		}
	}
}
