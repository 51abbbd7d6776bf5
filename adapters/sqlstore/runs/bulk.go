package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"
)

// rowsPerInsert bounds one statement's text.
const rowsPerInsert = 200

// insertRows inserts rows of equal width with few statements: head up to VALUES, and what follows the rows.
func insertRows(ctx context.Context, q bun.IDB, head, tail string, rows [][]any) error {
	for part := range slices.Chunk(rows, rowsPerInsert) {
		tuple := "(" + marks(len(part[0])) + ")"
		args := make([]any, 0, len(part)*len(part[0]))
		for _, row := range part {
			args = append(args, row...)
		}
		if _, err := exec(ctx, q, head+strings.Repeat(tuple+", ", len(part)-1)+tuple+tail, args...); err != nil {
			return err
		}
	}
	return nil
}
