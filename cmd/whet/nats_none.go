//go:build !natsembed

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func serveNATS(*cobra.Command, string) error {
	return errors.New("this whet was built without a NATS server: run nats-server --jetstream, or build whet with -tags natsembed")
}
