package tree_test

import (
	"testing"

	"github.com/whet-dev/whet/market/tree"
)

func TestDigest(t *testing.T) {
	const want = "sha256:aedadc3fa9a9d90420ee8cbad412579a399a27de5b946fd282bbab5f9b2c88ff"
	a := tree.File{Name: "a", Exec: true, Data: []byte("2")}
	b := tree.File{Name: "b", Data: []byte("1")}
	for _, files := range [][]tree.File{
		{a, b},
		{b, a},
		{b, a, {Name: tree.SignatureDir + "acme.sig", Data: []byte("-")}},
	} {
		if got := tree.New(files).Digest(); got != want {
			t.Errorf("%v: %s, want %s", files, got, want)
		}
	}
	a.Exec = false
	if tree.New([]tree.File{a, b}).Digest() == want {
		t.Error("the exec bit doesn't count")
	}
}
