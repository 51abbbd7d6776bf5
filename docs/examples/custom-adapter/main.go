// Command custom-adapter is writ with a log store of its own: what runs print is stored encrypted.
package main

import (
	"os"

	"github.com/writ-automation/writ/cmd/cli"
	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/docs"
	"github.com/writ-automation/writ/ports/runs"
)

func main() {
	os.Exit(cli.Execute(docs.Pages, compose.With(func(stored runs.LogStore) (runs.LogStore, error) {
		return newEncryptedLogs(stored, os.Getenv("LOG_KEY"))
	})))
}
