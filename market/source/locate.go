package source

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/whet-dev/whet/internal/lazyregexp"
)

var (
	scheme    = lazyregexp.New(`^([A-Za-z][A-Za-z0-9+.-]+:|[\w.-]+@[\w.-]+:)`) // C: is none
	shorthand = lazyregexp.New(`^@?[\w.-]+/[\w.-]+(@[\w.-]+|#[\w./-]+)?$`)
)

// Split cuts the name of a catalogue's plugin off a path: "dir#plugin". The #
// of a bundle chooses a ref, and stays.
func Split(path string) (file, plugin string) {
	file, plugin, found := strings.Cut(path, "#")
	if !found || strings.HasSuffix(strings.ToLower(file), ".bundle") {
		return path, ""
	}
	if _, err := os.Lstat(path); err == nil {
		return path, ""
	}
	return file, plugin
}

// locate returns the canonical absolute path, and the ref and directory of a
// bundle.
func locate(path string) (file, part string, err error) {
	file = path
	if rest, ok := cutScheme(path); ok {
		if file, err = fromURL(path, rest); err != nil {
			return "", "", err
		}
	}
	if strings.ContainsRune(file, 0) || file == "" {
		return "", "", refuse("not-found", path, "it is no path")
	}
	if _, err := os.Lstat(file); err != nil {
		if i := bundleEnd(file); i > 0 {
			file, part = file[:i], file[i:]
		} else if scheme.MatchString(path) || shorthand.MatchString(path) && !strings.HasPrefix(path, ".") {
			return "", "", refuse("not-a-local-path", path, "there is no such file, and packages are read from this machine only, never from a network registry; download it and give its path")
		}
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", "", unreadable(file, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", "", unreadable(abs, err)
	}
	return real, part, nil
}

func cutScheme(path string) (rest string, ok bool) {
	if len(path) > 5 && strings.EqualFold(path[:5], "file:") {
		return path[5:], true
	}
	return "", false
}

// fromURL is the path of a file: URL.
func fromURL(path, rest string) (string, error) {
	u, err := url.Parse("file:" + rest)
	if err != nil || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") {
		return "", refuse("not-a-local-path", path, "want file:///absolute/path")
	}
	file := u.Path
	if runtime.GOOS == "windows" {
		file = strings.TrimPrefix(file, "/")
	}
	if u.Fragment != "" {
		file += "#" + u.Fragment
	}
	return filepath.FromSlash(file), nil
}

// bundleEnd is where a path's ".bundle" ends and its ref or directory begins; 0
// is nowhere.
func bundleEnd(path string) int {
	for _, next := range []string{".bundle#", ".bundle:"} {
		if i := strings.Index(strings.ToLower(path), next); i >= 0 {
			return i + len(next) - 1
		}
	}
	return 0
}
