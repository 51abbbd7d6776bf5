package compose

import (
	"github.com/writ-automation/writ/adapters/importers/cron"
	"github.com/writ-automation/writ/ports/importer"
)

// LocalFormats returns the formats that the command line reads without a server: those of servers, and crontabs.
func LocalFormats() []importer.Format { return append(ImportFormats(), cron.New()) }
