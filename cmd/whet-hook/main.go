// Whet-hook answers hook events as "whet hook" does, and does nothing else: a
// hook is a new process for each event, and this one starts in half of whet's
// time. whet install gives it to hosts where it lies beside whet.
package main

import (
	"os"

	"github.com/whet-dev/whet/cmd/internal/cli"
)

func main() { os.Exit(cli.WhetHook(os.Args[1:])) }
