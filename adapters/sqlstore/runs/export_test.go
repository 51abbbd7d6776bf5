package runs

import (
	"context"
	"strings"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// Columns returns the columns of a run that Insert writes.
func Columns(d *db.DB) string {
	return strings.TrimPrefix(strings.ReplaceAll(db.ModelOf[row](d).Columns("r", ""), "r.", ""), "seq, ")
}

// FacetQueries returns the statements of a facet.
func (s *Store) FacetQueries(
	ctx context.Context, column string, f runs.Filter,
) (texts []string, args [][]any, err error) {
	q, more, err := s.facetQuery(ctx, column, f)
	return []string{q.text, more.text}, [][]any{q.args, more.args}, err
}
