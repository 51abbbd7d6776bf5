package compose

import (
	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/ports/audit"
)

// NewVerifier returns what checks files of the audit chain. It needs no install: no data directory, no database, no
// network.
func NewVerifier() audit.Verifier { return auditmodule.NewVerifier() }
