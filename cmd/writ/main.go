// Command writ is the standard binary.
package main

import (
	"os"

	"github.com/writ-automation/writ/cmd/cli"
	"github.com/writ-automation/writ/docs"
)

func main() { os.Exit(cli.Execute(docs.Pages)) }
