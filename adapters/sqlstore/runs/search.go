package runs

import (
	"context"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

const searchTable = "run_search"

// index updates the search index from the record, without its hidden texts, when the unit is about to commit.
func (s *Store) index(ctx context.Context, r *runs.Run) error {
	words := termsOf(searchText(r.Conceal())...)
	if len(words) == 0 {
		return nil
	}
	query, args := s.dialect.SearchPut(searchTable, r.Seq, words)
	return db.Wrap(s.d.AtEnd(ctx, db.Statement{Query: query, Args: args}), "index run %s", r.ID)
}
