package applypatch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet/applypatch"
)

// BenchmarkSmall is what is usual: one line of a file of 1 KB, from the patch's
// text to the file in place, without flushing to the disk.
func BenchmarkSmall(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("WHET_STATE", filepath.Join(dir, "state"))
	fill := strings.Repeat("0123456789 abcdefgh\n", 25)
	write(b, dir, files{"w/f": fill + "func x() {\n\treturn 1\n}\n" + fill})
	w := filepath.Join(dir, "w")
	no := false
	patches := []string{
		body("*** Update File: f\n@@\n func x() {\n-\treturn 1\n+\treturn 2\n }"),
		body("*** Update File: f\n@@\n func x() {\n-\treturn 2\n+\treturn 1\n }"),
	}
	for i := 0; b.Loop(); i++ {
		r, err := applypatch.Run(b.Context(), patches[i%2], applypatch.Job{Dir: w, Options: applypatch.Options{Durable: &no}})
		if err != nil || !r.OK {
			b.Fatal(err, r)
		}
	}
	_ = os.Remove(w)
}
