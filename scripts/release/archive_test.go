package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An archive is the same bytes whenever, wherever and in whatever order it is
// made, and holds what was put in.
func TestArchivesAreReproducible(t *testing.T) {
	files := []file{{name: "whet", text: []byte("program"), exec: true}, {name: "man/whet.1", text: []byte("page")}, {name: "LICENSE", text: nil}}
	date := time.Unix(1700000000, 0).UTC()
	want := []string{"whet_x/LICENSE 644 0", "whet_x/man/whet.1 644 4", "whet_x/whet 755 7"}
	for _, kind := range []string{"tar", "zip"} {
		var made [][]byte
		for range 2 {
			r := &maker{dist: t.TempDir(), date: date}
			path, err := r.tar("whet_x", files)
			if kind == "zip" {
				path, err = r.zip("whet_x", files)
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, b)
			slices.Reverse(files)
		}
		if !bytes.Equal(made[0], made[1]) {
			t.Errorf("%s: two archives of the same files differ", kind)
		}
		got, err := untar(made[0])
		if kind == "zip" {
			got, err = unzip(made[0])
		}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", kind, err, d)
		}
	}
}

func untar(b []byte) (got []string, err error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, fmt.Sprintf("%s %o %d", h.Name, h.Mode, h.Size))
	}
}

func unzip(b []byte) (got []string, err error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	for _, f := range z.File {
		got = append(got, fmt.Sprintf("%s %o %d", f.Name, f.Mode().Perm(), f.UncompressedSize64))
	}
	return got, nil
}
