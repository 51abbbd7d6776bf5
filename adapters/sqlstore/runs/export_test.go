package runs

import (
	"strings"

	"github.com/writ-automation/writ/platform/db"
)

// Columns returns the columns of a run that Insert writes.
func Columns(d *db.DB) string {
	return strings.TrimPrefix(strings.ReplaceAll(db.ModelOf[row](d).Columns("r", ""), "r.", ""), "seq, ")
}
