// Package trust remembers which files of a project a person lets run as
// programs: a repository is input, and opening one must not run what it
// brings. What changes afterwards is not trusted any more.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whet-dev/whet/internal/plainfile"
	"github.com/whet-dev/whet/internal/state"
)

// A Project is what was agreed to for one project.
type Project struct {
	At time.Time `json:"at"`
	// Files are digests by path, relative to the project and with slashes: of a
	// whole file, or of those of a configuration's settings that run programs.
	Files map[string]string `json:"files"`
}

type record map[string]Project // by the project's path, without links

// Of returns what is trusted of the project.
func Of(dir string) (p Project, ok bool) {
	root, err := state.Root()
	if err != nil {
		return p, false
	}
	b, err := os.ReadFile(filepath.Join(root, "trust.json"))
	if err != nil {
		return p, false
	}
	var r record
	if json.Unmarshal(b, &r) != nil {
		return p, false
	}
	p, ok = r[real(dir)]
	return p, ok
}

// Grant replaces what is trusted of the project.
func Grant(dir string, files map[string]string) error {
	return update(func(r record) { r[real(dir)] = Project{At: time.Now().UTC().Truncate(time.Second), Files: files} })
}

// Revoke forgets the project.
func Revoke(dir string) error { return update(func(r record) { delete(r, real(dir)) }) }

func update(f func(record)) error {
	root, err := state.Root()
	if err != nil {
		return err
	}
	return state.Dir(root).Update("trust", func(old []byte) ([]byte, error) {
		r := record{}
		if len(old) > 0 {
			if err := json.Unmarshal(old, &r); err != nil {
				return nil, fmt.Errorf("reading %s: %w; remove the file to begin anew", filepath.Join(root, "trust.json"), err)
			}
		}
		f(r)
		return json.MarshalIndent(r, "", "  ")
	})
}

// Has reports whether the file has that digest in what is trusted.
func (p Project) Has(name, digest string) bool { return digest != "" && p.Files[name] == digest }

// Check returns an error that says what to do if one of the files, absolute
// paths inside the project, may not run.
func Check(project string, files []string) error {
	p, known := Of(project)
	for _, f := range files {
		name := Name(project, f)
		switch {
		case !known:
			return fmt.Errorf("%s comes with this project and would run as a program; `whet trust` lets it", name)
		case !Digested(name):
		case p.Files[name] == "":
			return fmt.Errorf("%s would run as a program and is new since `whet trust`; look at it and run that again", name)
		case !p.Has(name, Digest(f)):
			return fmt.Errorf("%s would run as a program and has changed since `whet trust`; look at it and run that again", name)
		}
	}
	return nil
}

// Digested reports whether the file's content is what is trusted. Installed
// packages change with each update, and a package.json with each dependency:
// for these it is enough that the project is trusted.
func Digested(name string) bool {
	parts := strings.Split(name, "/")
	return !slices.ContainsFunc(parts, func(p string) bool {
		return slices.Contains([]string{"node_modules", ".venv", "venv", "vendor", "package.json"}, p)
	})
}

// Digest returns the digest of a file's content; "" if it can't be read.
func Digest(path string) string {
	f, err := plainfile.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Sum returns the digest of b.
func Sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Name returns path relative to the project, with slashes.
func Name(project, path string) string {
	for _, dir := range []string{project, real(project)} {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}

func real(dir string) string {
	if r, err := filepath.EvalSymlinks(dir); err == nil {
		return r
	}
	return dir
}
