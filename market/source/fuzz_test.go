package source_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet/market/source"
	"github.com/whet-dev/whet/market/tree"
)

// safe looks at what holds for every tree that was taken.
func safe(t *testing.T, tr tree.Tree) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range tr {
		switch {
		case f.Name == "" || path.Clean(f.Name) != f.Name || path.IsAbs(f.Name) || strings.HasPrefix(f.Name, ".."), strings.ContainsAny(f.Name, "\\:\x00"):
			t.Fatalf("%q was taken", f.Name)
		case !filepath.IsLocal(filepath.FromSlash(f.Name)):
			t.Fatalf("%q is not local", f.Name)
		case seen[strings.ToLower(f.Name)]:
			t.Fatalf("%q is there twice", f.Name)
		case len(f.Data) > source.MaxFile:
			t.Fatalf("%q has %d bytes", f.Name, len(f.Data))
		}
		seen[strings.ToLower(f.Name)] = true
		for dir := path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
			if _, ok := tr.Get(dir); ok {
				t.Fatalf("%q is a file and a directory", dir)
			}
		}
	}
	if tr.Size() > source.MaxTotal || len(tr) > source.MaxEntries {
		t.Fatalf("%d files, %d bytes", len(tr), tr.Size())
	}
}

func fuzz(f *testing.F, name string) {
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tr, _, err := source.Read(t.Context(), file)
		if err != nil {
			if e := (*source.Error)(nil); !errors.As(err, &e) || e.Code == "" || e.Text == "" {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		safe(t, tr)
	})
}

func FuzzZip(f *testing.F) {
	for _, tt := range hostile {
		if len(tt.entries) > 20 || tt.only == "tar" || tt.entries[0].size > 0 {
			continue
		}
		var b bytes.Buffer
		makeZip(f, &b, tt.entries)
		f.Add(b.Bytes())
	}
	var b bytes.Buffer
	makeZip(f, &b, sample)
	f.Add(b.Bytes())
	fuzz(f, "x.zip")
}

func FuzzTar(f *testing.F) {
	for _, tt := range hostile {
		if len(tt.entries) > 20 || tt.only == "zip" || tt.entries[0].size > 0 {
			continue
		}
		var b bytes.Buffer
		makeTar(f, &b, tt.entries)
		f.Add(b.Bytes())
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	makeTar(f, z, sample)
	z.Close()
	f.Add(b.Bytes())
	fuzz(f, "x.tar")
}
