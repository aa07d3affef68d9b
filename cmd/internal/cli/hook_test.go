package cli_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Whatever this package imports is initialised in each hook process.
func TestImportsLittle(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	for _, heavy := range []string{"net/http", "net", "crypto/tls", "encoding/xml", "github.com/spf13/cobra"} {
		if slices.Contains(deps, heavy) {
			t.Errorf("it reaches %s; hand what needs it in as a function, or keep it out of kit/guards", heavy)
		}
	}
}
