package store_test

import (
	"bytes"
	"testing"

	"github.com/whet-dev/whet/market/store"
)

// Whatever lock.json holds, nothing of it leads out of the store, and what is
// written back reads the same.
func FuzzLock(f *testing.F) {
	f.Add([]byte(`{"schema":1,"generation":7,"packages":{"acme/reviewer":{"version":"1.2.0","tree":"sha256:aedadc3fa9a9d90420ee8cbad412579a399a27de5b946fd282bbab5f9b2c88ff"}}}`))
	f.Add([]byte(`{"schema":1,"packages":{"../../x":{"tree":"sha256:../../../../etc"}}}`))
	f.Add([]byte(`{"schema":1,"packages":null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := store.Decode(b)
		if err != nil {
			return
		}
		for id, p := range l.Packages {
			if !store.ValidID(id) || len(p.Tree) != len("sha256:")+64 {
				t.Errorf("took %q with tree %q", id, p.Tree)
			}
		}
		once, err := l.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := store.Decode(once)
		if err != nil {
			t.Fatalf("%v: %s", err, once)
		}
		if twice, _ := again.Encode(); !bytes.Equal(once, twice) {
			t.Errorf("%s became %s", once, twice)
		}
	})
}

// Whatever trust.json holds, only a whole grant counts.
func FuzzTrust(f *testing.F) {
	f.Add([]byte(`{"acme/reviewer":{"exec":"sha256:aedadc3fa9a9d90420ee8cbad412579a399a27de5b946fd282bbab5f9b2c88ff","at":"2026-11-30T21:00:00Z"}}`))
	f.Add([]byte(`{"acme/reviewer":{"exec":""}}`))
	f.Add([]byte(`{"acme/reviewer":null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		trust, err := store.DecodeTrust(b)
		if err != nil {
			return
		}
		if trust == nil {
			t.Fatal("no map")
		}
		for id, g := range trust {
			if trust.Has(id, store.Package{}) || g.Exec == "" {
				t.Errorf("%s is trusted with %q", id, g.Exec)
			}
		}
	})
}
