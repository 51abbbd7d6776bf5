package scheduling

import (
	"github.com/writ-automation/writ/adapters/sqlstore/shelf"
	"github.com/writ-automation/writ/ports/secrets"
)

// Holders returns the tables in which something rests sealed: the signing secrets of the triggers.
func (s *Store) Holders() []secrets.Holder {
	return []secrets.Holder{
		&shelf.Sealed{D: s.d, What: "triggers", Table: "triggers", Record: func(id string, _ int64) string { return id }},
	}
}
