package source

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// file reads what isn't a directory: it is told by its first bytes what it is.
func (c *collector) file(name, part string, info *Info) error {
	f, err := os.Open(name)
	if err != nil {
		return unreadable(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, c.max.total+1))
	if err != nil {
		return unreadable(name, err)
	}
	if int64(len(data)) > c.max.total {
		return refuse("package-too-large", name, "it has more than %d bytes", c.max.total)
	}
	sum := sha256.Sum256(data)
	info.Kind, info.Archive = "archive", "sha256:"+hex.EncodeToString(sum[:])
	base := filepath.Base(name)
	switch {
	case bytes.HasPrefix(data, []byte("# v2 git bundle\n")), bytes.HasPrefix(data, []byte("# v3 git bundle\n")):
		info.Kind = "bundle"
		info.Commit, err = c.bundle(name, part, data)
		return err
	case part != "":
		return refuse("unreadable", name, "it isn't a git bundle")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), bytes.HasPrefix(data, []byte("PK\x05\x06")):
		return c.zip(name, data)
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return c.gzip(name, data)
	case len(data) >= 512 && (string(data[257:262]) == "ustar" || strings.EqualFold(path.Ext(base), ".tar")):
		return c.tar(name, bytes.NewReader(data))
	case strings.EqualFold(base, "SKILL.md"):
		base = "SKILL.md"
	case strings.EqualFold(path.Ext(base), ".json"):
		if !bytes.Contains(data, []byte(`"schemaVersion"`)) {
			return refuse("unreadable", name, "it is no package by itself; give the directory that it belongs to")
		}
	default:
		return refuse("unreadable", name, "it is none of what packages come in: a directory, .zip, .mcpb, .tar, .tar.gz, .tgz, .bundle, a SKILL.md or a JSON manifest")
	}
	info.Kind, info.Archive = "file", ""
	return c.add(base, 0, bytes.NewReader(data))
}

func (c *collector) gzip(name string, data []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return refuse("unreadable", name, "%s", reason(err))
	}
	return c.tar(name, z)
}

// capped fails when a stream goes on after what a package may have.
type capped struct {
	r    io.Reader
	left int64
	name string
}

func (r *capped) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, refuse("package-too-large", r.name, "it unpacks to far more than a package may have")
	}
	n, err := r.r.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

func (c *collector) tar(name string, r io.Reader) error {
	tr := tar.NewReader(bufio.NewReader(&capped{r, c.max.packed(), name}))
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if e := (*Error)(nil); errors.As(err, &e) {
				return err
			}
			return refuse("unreadable", name, "%s", reason(err))
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // git archive puts the commit there
			continue
		}
		if err := c.entry(h.Name, tarMode(h), h.Linkname, h.Size, func() (io.ReadCloser, error) { return io.NopCloser(tr), nil }); err != nil {
			return err
		}
	}
}

// tarMode is the mode with the type that the header's flag says; what a file
// mode has no word for is irregular.
func tarMode(h *tar.Header) fs.FileMode {
	mode := h.FileInfo().Mode() &^ fs.ModeType
	switch h.Typeflag {
	case tar.TypeReg, '\x00':
		if strings.HasSuffix(h.Name, "/") {
			return mode | fs.ModeDir
		}
		return mode
	case tar.TypeDir:
		return mode | fs.ModeDir
	case tar.TypeSymlink:
		return mode | fs.ModeSymlink
	case tar.TypeFifo:
		return mode | fs.ModeNamedPipe
	case tar.TypeChar, tar.TypeBlock:
		return mode | fs.ModeDevice
	}
	return mode | fs.ModeIrregular
}

func (c *collector) zip(name string, data []byte) error {
	// Parsing costs memory for each entry: they are counted roughly before.
	if bytes.Count(data, []byte("PK\x01\x02")) > 16*c.max.entries {
		return refuse("too-many-files", name, "the package has more than %d entries", c.max.entries)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return refuse("unreadable", name, "%s", reason(err))
	}
	var declared uint64
	for _, f := range r.File {
		if declared += f.UncompressedSize64; declared > uint64(c.max.total) || f.UncompressedSize64 > uint64(c.max.total) {
			return refuse("package-too-large", name, "it unpacks to more than %d bytes", c.max.total)
		}
	}
	for _, f := range r.File {
		if f.Flags&1 != 0 {
			return refuse("unreadable", f.Name, "it is encrypted")
		}
		mode := f.Mode()
		target := ""
		if mode.Type() == fs.ModeSymlink {
			if target, err = linkTarget(f); err != nil {
				return err
			}
		}
		if err := c.entry(f.Name, mode, target, int64(f.UncompressedSize64), f.Open); err != nil {
			return err
		}
	}
	return nil
}

// linkTarget reads the target of a link: it is the content of its entry.
func linkTarget(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", refuse("unreadable", f.Name, "%s", reason(err))
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil {
		return "", refuse("unreadable", f.Name, "%s", reason(err))
	}
	return string(b), nil
}

// entry takes one entry of an archive.
func (c *collector) entry(name string, mode fs.FileMode, target string, size int64, open func() (io.ReadCloser, error)) error {
	if err := c.count(name); err != nil {
		return err
	}
	as, err := clean(name)
	if err != nil {
		return err
	}
	if as == "__MACOSX" || strings.HasPrefix(as, "__MACOSX/") || path.Base(as) == ".DS_Store" {
		return nil // what macOS adds to archives
	}
	switch mode.Type() {
	case fs.ModeDir:
		return nil
	case fs.ModeSymlink:
		if as == "" {
			return refuse("not-regular", name, "the package itself is a link")
		}
		return c.link(as, target)
	case 0:
	default:
		return refuse("not-regular", name, "it is a %s; a package has only files, directories and links", kind(mode))
	}
	if as == "" {
		return refuse("file-as-dir", name, "the package itself is a file")
	}
	if size > c.max.file {
		return refuse("file-too-large", name, "the file has more than %d bytes", c.max.file)
	}
	r, err := open()
	if err != nil {
		return refuse("unreadable", name, "%s", reason(err))
	}
	defer r.Close()
	return c.add(as, mode, r)
}

// kind names what isn't a regular file.
func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "hard link or something else"
}
