package source_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whet-dev/whet/market/source"
)

// An entry of an archive that is made for a test.
type entry struct {
	name string
	body string
	mode fs.FileMode
	link string // target of a symbolic link
	hard string // target of a hard link
	size int64  // that many zero bytes instead of body
}

func makeTar(t testing.TB, w io.Writer, entries []entry) {
	t.Helper()
	tw := tar.NewWriter(w)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), Size: max(e.size, int64(len(e.body))), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.mode.Perm() == 0 {
			h.Mode = 0o644
		}
		if e.mode&fs.ModeSetuid != 0 {
			h.Mode |= 0o4000
		}
		switch {
		case e.link != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.link, 0
		case e.hard != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, e.hard, 0
		case e.mode&fs.ModeNamedPipe != 0:
			h.Typeflag = tar.TypeFifo
		case e.mode&fs.ModeDevice != 0:
			h.Typeflag, h.Devmajor = tar.TypeChar, 1
		case e.mode&fs.ModeDir != 0:
			h.Typeflag = tar.TypeDir
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		body := io.Reader(strings.NewReader(e.body))
		if e.size > 0 {
			body = io.LimitReader(zeros{}, e.size)
		}
		if h.Size > 0 {
			if _, err := io.Copy(tw, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func makeZip(t testing.TB, w io.Writer, entries []entry) {
	t.Helper()
	zw := zip.NewWriter(w)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.body == "" && e.size == 0 {
			h.Method = zip.Store
		}
		mode := e.mode
		if mode.Perm() == 0 {
			mode |= 0o644
		}
		body := e.body
		if e.link != "" {
			mode, body = mode|fs.ModeSymlink, e.link
		}
		h.SetMode(mode)
		f, err := zw.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		src := io.Reader(strings.NewReader(body))
		if e.size > 0 {
			src = io.LimitReader(zeros{}, e.size)
		}
		if mode.IsDir() {
			continue
		}
		if _, err := io.Copy(f, src); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
}

// ok is a file that is right, so that each row fails for its own reason.
var ok = entry{name: "plugin.json", body: "{}"}

func many(n int) (list []entry) {
	for i := range n {
		list = append(list, entry{name: fmt.Sprintf("f%d", i)})
	}
	return list
}

func big(n int, size int64) (list []entry) {
	for i := range n {
		list = append(list, entry{name: fmt.Sprintf("f%d", i), size: size})
	}
	return list
}

// hostile is what an archive may not have.
var hostile = []struct {
	name    string
	entries []entry
	code    string
	only    string // tar or zip; empty is both
}{
	{"parent", []entry{ok, {name: "../e", body: "x"}}, "traversal", ""},
	{"parent inside", []entry{ok, {name: "a/../../e", body: "x"}}, "traversal", ""},
	{"parent that stays", []entry{ok, {name: "a/../e", body: "x"}}, "traversal", ""},
	{"absolute", []entry{ok, {name: "/etc/e", body: "x"}}, "absolute", ""},
	{"drive", []entry{ok, {name: "C:/e", body: "x"}}, "absolute", ""},
	{"drive relative", []entry{ok, {name: "C:e", body: "x"}}, "absolute", ""},
	{"backslashes", []entry{ok, {name: `a\..\e`, body: "x"}}, "name-backslash-or-nul", ""},
	{"UNC", []entry{ok, {name: `\\host\share`, body: "x"}}, "name-backslash-or-nul", ""},
	{"NUL", []entry{ok, {name: "a\x00b", body: "x"}}, "name-backslash-or-nul", "zip"},
	{"not UTF-8", []entry{ok, {name: "a\xff", body: "x"}}, "name-not-utf8", ""},
	{"bidi", []entry{ok, {name: "a\u202egpj.sh", body: "x"}}, "name-control-or-bidi", ""},
	{"zero width", []entry{ok, {name: "a\u200bb", body: "x"}}, "name-control-or-bidi", ""},
	{"escape sequence", []entry{ok, {name: "a\x1b[2Jb", body: "x"}}, "name-control-or-bidi", ""},
	{"newline", []entry{ok, {name: "a\nb", body: "x"}}, "name-control-or-bidi", ""},
	{"tag character", []entry{ok, {name: "a\U000e0041b", body: "x"}}, "name-control-or-bidi", ""},

	{"link out", []entry{ok, {name: "l", link: "../../etc/passwd"}}, "link-escapes", ""},
	{"link to absolute", []entry{ok, {name: "l", link: "/etc/passwd"}}, "link-escapes", ""},
	{"link to nothing", []entry{ok, {name: "l", link: "none"}}, "link-escapes", ""},
	{"link to itself", []entry{ok, {name: "l", link: "l"}}, "link-escapes", ""},
	{"link to its directory", []entry{ok, {name: "d/l", link: "."}}, "link-escapes", ""},
	{"link to the package", []entry{ok, {name: "l", link: "."}}, "link-escapes", ""},
	{"link to a link", []entry{ok, {name: "l", link: "m"}, {name: "m", link: "plugin.json"}}, "link-escapes", ""},
	{"link to a directory with a link", []entry{ok, {name: "d/f", body: "x"}, {name: "d/l", link: "f"}, {name: "m", link: "d"}}, "link-escapes", ""},
	{"link through a link", []entry{ok, {name: "d", link: "e"}, {name: "m", link: "d/f"}, {name: "e/f", body: "x"}}, "link-escapes", ""},
	{"link with a backslash", []entry{ok, {name: "l", link: `..\e`}}, "link-escapes", ""},
	{"link, then through it", []entry{ok, {name: "l", link: "/tmp"}, {name: "l/e", body: "x"}}, "file-as-dir", ""},
	{"hard link", []entry{ok, {name: "h", hard: "/etc/passwd"}}, "not-regular", "tar"},
	{"hard link inside", []entry{ok, {name: "h", hard: "plugin.json"}}, "not-regular", "tar"},
	{"named pipe", []entry{ok, {name: "p", mode: fs.ModeNamedPipe}}, "not-regular", ""},
	{"device", []entry{ok, {name: "d", mode: fs.ModeDevice | fs.ModeCharDevice}}, "not-regular", ""},

	{"twice", []entry{ok, {name: "a", body: "1"}, {name: "a", body: "2"}}, "duplicate", ""},
	{"twice in another way", []entry{ok, {name: "a/b", body: "1"}, {name: "./a//b", body: "2"}}, "duplicate", ""},
	{"case", []entry{ok, {name: "Skill.md", body: "1"}, {name: "SKILL.md", body: "2"}}, "case-collision", ""},
	{"case of the manifest", []entry{ok, {name: "PLUGIN.JSON", body: "2"}}, "case-collision", ""},
	{"case of a directory", []entry{ok, {name: "a/x", body: "1"}, {name: "A/y", body: "2"}}, "case-collision", ""},
	{"composed and decomposed", []entry{ok, {name: "caf\u00e9", body: "1"}, {name: "cafe\u0301", body: "2"}}, "case-collision", ""},
	{"sharp s", []entry{ok, {name: "stra\u00dfe", body: "1"}, {name: "STRASSE", body: "2"}}, "case-collision", ""},
	{"file, then a directory", []entry{ok, {name: "a", body: "1"}, {name: "a/b", body: "2"}}, "file-as-dir", ""},
	{"directory, then a file", []entry{ok, {name: "a/b", body: "1"}, {name: "a", body: "2"}}, "file-as-dir", ""},

	{"device name", []entry{ok, {name: "aux.md", body: "x"}}, "reserved-name", ""},
	{"device name as directory", []entry{ok, {name: "a/NUL/b", body: "x"}}, "reserved-name", ""},
	{"device name with superscript", []entry{ok, {name: "com¹.txt", body: "x"}}, "reserved-name", ""},
	{"stream", []entry{ok, {name: "ab:stream", body: "x"}}, "reserved-name", ""},
	{"trailing dot", []entry{ok, {name: "a./b", body: "x"}}, "trailing-dot-or-space", ""},
	{"trailing space", []entry{ok, {name: "a ", body: "x"}}, "trailing-dot-or-space", ""},
	{"deep", []entry{ok, {name: strings.Repeat("d/", 17) + "f", body: "x"}}, "too-deep", ""},
	{"long", []entry{ok, {name: strings.Repeat("n", 241), body: "x"}}, "name-too-long", ""},
	{"repository", []entry{ok, {name: ".git/config", body: "x"}}, "dot-git", ""},
	{"repository below", []entry{ok, {name: "a/.GIT/hooks/post-checkout", body: "x"}}, "dot-git", ""},
	{"repository by its short name", []entry{ok, {name: "git~1/config", body: "x"}}, "dot-git", ""},
	{"repository with a dot", []entry{ok, {name: ".git./config", body: "x"}}, "dot-git", ""},

	{"many files", many(source.SmallEntries + 1), "too-many-files", ""},
	{"many directories", func() (list []entry) {
		for i := range source.SmallEntries + 1 {
			list = append(list, entry{name: fmt.Sprintf("d%d/", i), mode: fs.ModeDir | 0o755})
		}
		return list
	}(), "too-many-files", ""},
	{"large file", big(1, source.SmallFile+1), "file-too-large", ""},
	{"large package", big(5, source.SmallFile), "package-too-large", ""},
	{"copies of a large file", append(big(1, source.SmallFile), []entry{
		{name: "l1", link: "f0"}, {name: "l2", link: "f0"}, {name: "l3", link: "f0"}, {name: "l4", link: "f0"},
	}...), "package-too-large", ""},
	{"nothing", []entry{{name: "d/", mode: fs.ModeDir | 0o755}}, "empty", ""},
	{"nothing but what macOS adds", []entry{{name: "__MACOSX/._x", body: "x"}}, "empty", ""},
}

func TestHostileArchives(t *testing.T) {
	for _, tt := range hostile {
		for _, form := range []string{"zip", "tar", "tar.gz"} {
			if tt.only != "" && !strings.HasPrefix(form, tt.only) {
				continue
			}
			t.Run(tt.name+"/"+form, func(t *testing.T) {
				t.Parallel()
				var b bytes.Buffer
				switch form {
				case "zip":
					makeZip(t, &b, tt.entries)
				case "tar":
					makeTar(t, &b, tt.entries)
				case "tar.gz":
					z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
					makeTar(t, z, tt.entries)
					z.Close()
				}
				code := tt.code
				if form == "tar" && b.Len() > source.SmallTotal {
					code = "package-too-large" // the archive itself is
				}
				refused(t, b.Bytes(), "x."+form, code)
			})
		}
	}
}

// refused reads an archive that must be refused, and looks that nothing is left.
func refused(t *testing.T, data []byte, name, code string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := source.ReadSmall(t.Context(), file)
	var e *source.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("%v, want %s", err, code)
	}
	if got != nil {
		t.Error("there is a tree all the same")
	}
	if strings.ContainsAny(e.Error(), "\x00\x1b\u202e\n") {
		t.Errorf("the error has what a terminal acts on: %q", e.Error())
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// A zip whose headers say less than what there is.
func TestZipThatLies(t *testing.T) {
	for _, tt := range []struct {
		name     string
		declared uint32
		code     string
	}{
		{"less", 1, "unreadable"},
		{"much more", 200 << 20, "package-too-large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			makeZip(t, &b, []entry{{name: "f", size: 1 << 20}})
			data := b.Bytes()
			central := bytes.LastIndex(data, []byte("PK\x01\x02"))
			binary.LittleEndian.PutUint32(data[central+24:], tt.declared)
			refused(t, data, "x.zip", tt.code)
		})
	}
}

func TestDamagedArchives(t *testing.T) {
	var zipped, tarred bytes.Buffer
	makeZip(t, &zipped, []entry{ok, {name: "f", body: strings.Repeat("abc", 1000)}})
	z := gzip.NewWriter(&tarred)
	makeTar(t, z, []entry{ok, {name: "f", body: strings.Repeat("abc", 1000)}})
	z.Close()
	crc := bytes.Clone(zipped.Bytes())
	at := bytes.LastIndex(crc, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(crc[at+16:], crc32.ChecksumIEEE([]byte("another")))
	encrypted := bytes.Clone(zipped.Bytes())
	encrypted[at+8] |= 1
	for name, data := range map[string][]byte{
		"cut.zip":       zipped.Bytes()[:zipped.Len()-30],
		"crc.zip":       crc,
		"encrypted.zip": encrypted,
		"cut.tar.gz":    tarred.Bytes()[:tarred.Len()-20],
		"what.bin":      []byte("\x7fELF"),
		"empty.zip":     {},
		"text.tar":      []byte("no archive"),
	} {
		t.Run(name, func(t *testing.T) { refused(t, data, name, "unreadable") })
	}
}

// A small archive that unpacks to far more than a package may have, also where
// nothing of it is kept.
func TestBombs(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	tw := tar.NewWriter(z)
	if err := tw.WriteHeader(&tar.Header{Name: "f", Typeflag: tar.TypeReg, Mode: 0o644, Size: 300 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := tw.Flush(); err == nil {
		t.Fatal("the file is whole")
	}
	z.Close()
	refused(t, b.Bytes(), "bomb.tgz", "file-too-large")

	b.Reset()
	z, _ = gzip.NewWriterLevel(&b, gzip.BestSpeed)
	makeTar(t, z, prefixed("__MACOSX/", big(6, source.SmallFile)))
	z.Close()
	refused(t, b.Bytes(), "skipped.tgz", "package-too-large")
}

func TestHostileDirectories(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names and links that Windows doesn't have")
	}
	for _, tt := range []struct {
		name string
		make func(dir string) error
		code string
	}{
		{"link out", func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "l")) }, "link-escapes"},
		{"link up", func(dir string) error { return os.Symlink("../..", filepath.Join(dir, "l")) }, "link-escapes"},
		{"named pipe", func(dir string) error { return mkfifo(filepath.Join(dir, "p")) }, "not-regular"},
		{"large file", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "f"), make([]byte, source.SmallFile+1), 0o600)
		}, "file-too-large"},
		{"case", func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "a"), nil, 0o600), os.WriteFile(filepath.Join(dir, "A"), nil, 0o600))
		}, "case-collision"},
		{"bidi", func(dir string) error { return os.WriteFile(filepath.Join(dir, "a\u202eb"), nil, 0o600) }, "name-control-or-bidi"},
		{"not UTF-8", func(dir string) error { return os.WriteFile(filepath.Join(dir, "a\xff"), nil, 0o600) }, "name-not-utf8"},
		{"empty", func(string) error { return nil }, "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tt.make(dir); err != nil {
				t.Skipf("the file system doesn't take it: %v", err)
			}
			if tt.name == "case" {
				if list, _ := os.ReadDir(dir); len(list) < 2 {
					t.Skip("the file system takes both for one")
				}
			}
			_, _, err := source.ReadSmall(t.Context(), dir)
			var e *source.Error
			if !errors.As(err, &e) || e.Code != tt.code {
				t.Fatalf("%v, want %s", err, tt.code)
			}
		})
	}
}
