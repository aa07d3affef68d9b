package format

import (
	"github.com/whet-dev/whet"
)

func Guard(o Options) whet.Guard { return whet.Guard{Name: "format"} }
