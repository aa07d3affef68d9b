package source

import (
	"context"

	"github.com/whet-dev/whet/market/tree"
)

// The limits of tests: what is past them is made and read in a moment.
const (
	SmallEntries = 200
	SmallFile    = 256 << 10
	SmallTotal   = 1 << 20
)

// ReadSmall is [Read] with these limits.
func ReadSmall(ctx context.Context, path string) (tree.Tree, Info, error) {
	return read(ctx, path, limits{SmallEntries, SmallFile, SmallTotal})
}
