//go:build manpages

package main

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/whet-dev/whet/cmd/internal/cli"
)

// manCommand writes the manual pages for a release. Only that build has it,
// because of what it links.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
			if err != nil {
				return err
			}
			date := time.Unix(seconds, 0).UTC()
			c.Root().DisableAutoGenTag = true
			return doc.GenManTree(c.Root(), &doc.GenManHeader{Section: "1", Date: &date, Source: "whet " + cli.Version(), Manual: "whet"}, args[0])
		},
	}
}
