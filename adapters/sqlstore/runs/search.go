package runs

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

const searchTable = "run_search"

// index brings the search index in step with the record. Nobody finds a run by what it hides.
func (s *Store) index(ctx context.Context, q bun.IDB, r *runs.Run) error {
	words := termsOf(searchText(r.Conceal())...)
	if len(words) == 0 {
		return nil
	}
	query, args := s.dialect.SearchPut(searchTable, r.Seq, words)
	_, err := db.Exec(ctx, q, query, args...)
	return db.Wrap(err, "index run %s", r.ID)
}
