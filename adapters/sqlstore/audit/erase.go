package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
)

// private holds the erasable parts of an entry.
type private struct {
	bun.BaseModel `bun:"table:audit_private,alias:p"`
	Seq           int64 `bun:",pk"`
	Disclosures   string
	Detail        string
}

func (s *Store) Erase(ctx context.Context, seqs []int64) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(seqs, maxSeqs) {
		lasting := q.NewSelect().TableExpr("audit_entries AS e").Column("e.seq").
			Where("e.seq IN (?) AND e.action IN (?)", bun.In(chunk), bun.In([]audit.Action{audit.RunFinal, audit.AuditErase}))
		_, err := db.Modify(ctx, q.NewUpdate().Model((*private)(nil)).Set("disclosures = ''").Where("p.seq IN (?)", lasting))
		if err == nil {
			_, err = db.Modify(ctx, q.NewDelete().Model((*private)(nil)).
				Where("p.seq IN (?) AND p.seq NOT IN (?)", bun.In(chunk), lasting))
		}
		if err != nil {
			return fmt.Errorf("erase private parts of the trail: %w", err)
		}
	}
	return nil
}
