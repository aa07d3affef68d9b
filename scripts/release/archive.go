package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// sorted returns the files in the order of their names, whatever they were
// collected in.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

func (f file) mode() int64 {
	if f.exec {
		return 0o755
	}
	return 0o644
}

// tar writes a .tar.gz, in which nothing tells where or when it was made.
func (r *maker) tar(name string, files []file) (string, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	t := tar.NewWriter(z)
	for _, f := range sorted(files) {
		h := &tar.Header{Name: name + "/" + f.name, Mode: f.mode(), Size: int64(len(f.text)), ModTime: r.date, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return "", err
		}
		if _, err := t.Write(f.text); err != nil {
			return "", err
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return "", err
	}
	path := filepath.Join(r.dist, name+".tar.gz")
	return path, os.WriteFile(path, b.Bytes(), 0o644)
}

// zip is tar for Windows.
func (r *maker) zip(name string, files []file) (string, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range sorted(files) {
		h := &zip.FileHeader{Name: name + "/" + f.name, Method: zip.Deflate, Modified: r.date}
		h.SetMode(os.FileMode(f.mode()))
		w, err := z.CreateHeader(h)
		if err != nil {
			return "", err
		}
		if _, err := w.Write(f.text); err != nil {
			return "", err
		}
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	path := filepath.Join(r.dist, name+".zip")
	return path, os.WriteFile(path, b.Bytes(), 0o644)
}
