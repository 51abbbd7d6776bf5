package runs

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

const searchTable = "run_search"

// index updates the search index from the record, without its hidden texts.
func (s *Store) index(ctx context.Context, q bun.IDB, r *runs.Run) error {
	words := termsOf(searchText(r.Conceal())...)
	if len(words) == 0 {
		return nil
	}
	query, args := s.dialect.SearchPut(searchTable, r.Seq, words)
	_, err := db.Exec(ctx, q, query, args...)
	return db.Wrap(err, "index run %s", r.ID)
}
