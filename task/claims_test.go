package task_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/whet-dev/whet/task"
)

func claim(dir string, files ...string) task.Claim {
	return task.Claim{Dir: filepath.FromSlash(dir), Files: files}
}

func TestClaims(t *testing.T) {
	for _, tt := range []struct {
		glob, file string
		owns       bool
	}{
		{"a.go", "a.go", true},
		{"a.go", "b/a.go", false},
		{"*.go", "a.go", true},
		{"*.go", "b/a.go", false},
		{"**/*.go", "a.go", true},
		{"**/*.go", "x/y/a.go", true},
		{"internal/auth/**", "internal/auth/a/b.go", true},
		{"internal/auth/", "internal/auth/a/b.go", true},
		{"internal/auth/**", "internal/authority.go", false},
		{"./a/../b.go", "b.go", true},
		{"{a,b}/*.{go,md}", "b/x.md", true},
		{"{a,b}/*.{go,md}", "c/x.md", false},
		{"a[0-9].go", "a1.go", true},
		{"[", "x", true}, // unreadable: may mean anything
	} {
		if got := claim("/p", tt.glob).Owns(filepath.FromSlash("/p/" + tt.file)); got != tt.owns {
			t.Errorf("%q owns %q: %v", tt.glob, tt.file, got)
		}
	}
	if claim("/p/sub", "**").Owns(filepath.FromSlash("/p/a.go")) {
		t.Error("a claim reaches outside its directory")
	}
	for _, tt := range []struct {
		dirA, a, dirB, b string
		meets            bool
	}{
		{"/p", "a.go", "/p", "a.go", true},
		{"/p", "a.go", "/p", "b.go", false},
		{"/p", "*.go", "/p", "a.go", true},
		{"/p", "*.go", "/p", "*.md", false},
		{"/p", "a*.go", "/p", "b*.go", false},
		{"/p", "a*", "/p", "*b", true},
		{"/p", "x/**", "/p", "**/*.go", true},
		{"/p", "x/**", "/p", "y/**", false},
		{"/p", "x/**", "/p/x", "a.go", true},
		{"/p/x", "a.go", "/p", "x/*.go", true},
		{"/p/x", "a.go", "/p/y", "a.go", false},
		{"/p", "**", "/p", "a/b/c", true},
	} {
		a, b := claim(tt.dirA, tt.a), claim(tt.dirB, tt.b)
		if got := a.Meets(b) != ""; got != tt.meets {
			t.Errorf("%s in %s meets %s in %s: %v", tt.a, tt.dirA, tt.b, tt.dirB, got)
		}
		if got := b.Meets(a) != ""; got != tt.meets {
			t.Errorf("the other way round: %s in %s meets %s in %s: %v", tt.b, tt.dirB, tt.a, tt.dirA, got)
		}
	}
}

// Whatever file two claims both own, they meet.
func FuzzClaims(f *testing.F) {
	f.Add("a/**", "**/*.go", "a/b.go")
	f.Add("{a,b}*", "*c", "bc")
	f.Fuzz(func(t *testing.T, a, b, file string) {
		if len(a)+len(b)+len(file) > 60 || strings.Count(a+b, "**") > 4 || strings.ContainsAny(a+b, `\`) {
			return
		}
		ca, cb := claim("/p", a), claim("/p", b)
		path := filepath.Join("/p", file)
		if ca.Owns(path) && cb.Owns(path) && ca.Meets(cb) == "" {
			t.Errorf("%q and %q both own %q and don't meet", a, b, path)
		}
	})
}
