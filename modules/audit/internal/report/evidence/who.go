package evidence

import (
	"cmp"

	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
)

// String returns an actor for a table cell: the name and the id, or what of them is known.
func (w Who) String() string {
	if w.Name == "" {
		return cmp.Or(w.ID, w.Type)
	}
	out := paper.Cell(w.Name)
	if w.ID != "" {
		out += " (" + w.ID + ")"
	}
	return out
}
