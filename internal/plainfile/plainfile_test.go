//go:build unix

package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("four", "four")
	write("five!", "five!")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "four", "to pipe": "pipe", "zero": "/dev/zero"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	tests := []struct {
		name, want string
		err        error // nil: any, if there is no text
	}{
		{"four", "four", nil},
		{"link", "four", nil},
		{"five!", "", ErrLarge},
		{"pipe", "", ErrSpecial},
		{"to pipe", "", ErrSpecial},
		{".", "", ErrSpecial},
		{"none", "", fs.ErrNotExist},
		{"pipe/x", "", syscall.ENOTDIR},
	}
	for _, tt := range tests {
		inTime(t, tt.name, func() {
			b, err := ReadIn(root, tt.name, 4)
			if string(b) != tt.want || (err == nil) != (tt.want != "") || tt.err != nil && !errors.Is(err, tt.err) {
				t.Errorf("ReadIn(%q) = %q, %v; want %q, %v", tt.name, b, err, tt.want, tt.err)
			}
			b, err = Read(filepath.Join(dir, tt.name), 4)
			if string(b) != tt.want || (err == nil) != (tt.want != "") || tt.err != nil && !errors.Is(err, tt.err) {
				t.Errorf("Read(%q) = %q, %v; want %q, %v", tt.name, b, err, tt.want, tt.err)
			}
		})
	}
	inTime(t, "zero", func() {
		if _, err := Read(filepath.Join(dir, "zero"), 4); !errors.Is(err, ErrSpecial) {
			t.Errorf("Read(a device) = %v, want %v", err, ErrSpecial)
		}
		if _, err := ReadIn(root, "zero", 4); err == nil {
			t.Error("ReadIn follows a link out of the root")
		}
	})
}

func TestOpenDir(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, ok := range map[string]bool{".": true, "pipe": false, "none": false} {
		inTime(t, name, func() {
			for _, open := range []func() (*os.File, error){
				func() (*os.File, error) { return OpenDir(filepath.Join(dir, name)) },
				func() (*os.File, error) { return OpenDirIn(root, name) },
			} {
				f, err := open()
				if (err == nil) != ok {
					t.Errorf("opening the directory %q: %v", name, err)
				}
				if err == nil {
					_ = f.Close()
				}
			}
		})
	}
}

// inTime fails the test if f waits for what never comes.
func inTime(t *testing.T, name string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: the open waits", name)
	}
}
