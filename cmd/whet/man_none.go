//go:build !manpages

package main

import "github.com/spf13/cobra"

// manCommand is in the build for a release's manual pages alone.
func manCommand() *cobra.Command { return nil }
