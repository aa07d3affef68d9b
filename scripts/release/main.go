// Release makes the archives of a version: the programs for each system, with
// the manual pages, shell completions, pages of docs/ and the schema. Made twice
// from one commit they are the same bytes.
//
//	go run ./scripts/release VERSION DIRECTORY [GOOS/GOARCH...]
//
// The npm packages take the programs from there:
//
//	WHET_DIST=DIRECTORY scripts/npm-packages VERSION NPM-DIRECTORY
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// targets are the systems of a release.
func targets() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(ctx context.Context, args []string) error {
	if len(args) < 2 || !regexp.MustCompile(`^\d+\.\d+\.\d+(-[\w.]+)?$`).MatchString(args[0]) {
		return fmt.Errorf("usage: go run ./scripts/release VERSION DIRECTORY [GOOS/GOARCH...]; a version is 1.2.3 or 1.2.3-rc.1")
	}
	r := maker{ctx: ctx, version: args[0], dist: args[1]}
	wanted := args[2:]
	if len(wanted) == 0 {
		wanted = targets()
	}
	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	defer os.RemoveAll(r.scratch)
	var sums strings.Builder
	for _, target := range wanted {
		archive, err := r.archive(target)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		b, err := os.ReadFile(archive)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(b), filepath.Base(archive))
		fmt.Printf("%s  %.1f MB\n", filepath.Base(archive), float64(len(b))/1e6)
	}
	return os.WriteFile(filepath.Join(r.dist, "checksums.txt"), []byte(sums.String()), 0o644)
}

// A maker makes one version's archives.
type maker struct {
	ctx     context.Context
	version string
	dist    string
	scratch string
	date    time.Time // of the commit
	common  []file    // in every archive
}

// A file of an archive.
type file struct {
	name string // in the archive, with slashes
	text []byte
	exec bool
}

// begin reads what all archives share.
func (r *maker) begin() (err error) {
	out, err := r.run(nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return err
	}
	r.date = time.Unix(seconds, 0).UTC()
	if r.scratch, err = os.MkdirTemp("", "whet-release"); err != nil {
		return err
	}
	if err := r.pages(); err != nil {
		return err
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"} {
		if err := r.add(name, name); err != nil {
			return err
		}
	}
	for _, dir := range []string{"docs", "schema"} {
		if err := r.tree(dir, dir); err != nil {
			return err
		}
	}
	return nil
}

// pages makes the manual pages and the completions, by the program itself.
func (r *maker) pages() error {
	whet := filepath.Join(r.scratch, "whet-man")
	if _, err := r.run(nil, "go", "build", "-tags", "manpages", "-ldflags", r.named(), "-o", whet, "./cmd/whet"); err != nil {
		return err
	}
	man := filepath.Join(r.scratch, "man")
	if err := os.Mkdir(man, 0o755); err != nil {
		return err
	}
	if _, err := r.run([]string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10)}, whet, "man", man); err != nil {
		return err
	}
	if err := r.tree(man, "man"); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "whet.bash", "zsh": "_whet", "fish": "whet.fish", "powershell": "whet.ps1"} {
		text, err := r.run(nil, whet, "completion", shell)
		if err != nil {
			return err
		}
		r.common = append(r.common, file{name: "completions/" + name, text: []byte(text)})
	}
	return nil
}

func (r *maker) add(path, name string) error {
	b, err := os.ReadFile(path)
	if err == nil {
		r.common = append(r.common, file{name: name, text: b})
	}
	return err
}

func (r *maker) tree(dir, name string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		return r.add(p, name+"/"+filepath.ToSlash(rel))
	})
}

// archive makes the programs for a target, and their archive.
func (r *maker) archive(target string) (string, error) {
	system, arch, _ := strings.Cut(target, "/")
	name := fmt.Sprintf("whet_%s_%s", system, arch)
	dir := filepath.Join(r.dist, name)
	env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch, "GOFLAGS=-mod=readonly", "GOAMD64=v1", "GOARM64=v8.0"}
	if _, err := r.run(env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -buildid= "+r.named(), "-o", dir+string(filepath.Separator), "./cmd/..."); err != nil {
		return "", err
	}
	var files []file
	for _, exe := range []string{"whet", "whet-hook"} {
		if system == "windows" {
			exe += ".exe"
		}
		b, err := os.ReadFile(filepath.Join(dir, exe))
		if err != nil {
			return "", err
		}
		files = append(files, file{name: exe, text: b, exec: true})
	}
	files = append(files, r.common...)
	if system == "windows" {
		return r.zip(name, files)
	}
	return r.tar(name, files)
}

// named are the linker's flags that give a program its version.
func (r *maker) named() string {
	return "-X github.com/whet-dev/whet/cmd/internal/cli.release=" + r.version
}

func (r *maker) run(env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}
