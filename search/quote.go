package search

import (
	"fmt"
	"strings"

	"github.com/whet-dev/whet/internal/escape"
)

// maxQuoted is how much of a model's own text it is shown again, in bytes.
const maxQuoted = 1000

func quote(s string) string {
	if len(s) > maxQuoted {
		return fmt.Sprintf(`"%s ..." (%d bytes)`, escape.Text(strings.ToValidUTF8(s[:maxQuoted], "")), len(s))
	}
	return `"` + escape.Text(s) + `"`
}
