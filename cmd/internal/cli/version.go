package cli

import (
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
)

// release is set by the release build.
var release string

// Version is that of the release or, if the program was made by go install, of
// the module.
func Version() string {
	if release != "" {
		return release
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		return version(b.Main.Version)
	}
	return version("")
}

// version turns a module's version into whet's. Of what isn't a release it
// tells no more than that.
func version(of string) string {
	of, _, _ = strings.Cut(of, "+")
	if !strings.HasPrefix(of, "v") || module.IsPseudoVersion(of) {
		return "0.1.0-dev"
	}
	return of[1:]
}
