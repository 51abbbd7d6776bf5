// Command writ is the standard binary.
package main

import (
	"os"

	"github.com/writ-automation/writ/cmd/cli"
	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/docs"
)

// vendorKey is the public key of licence files, set by the linker: make build LICENSE_KEY=...
var vendorKey string //nolint:gochecknoglobals // the linker sets nothing else

func main() { os.Exit(cli.Execute(docs.Pages, compose.VendorKey(vendorKey))) }
