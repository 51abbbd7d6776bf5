package runs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// factRow is a host's facts that wait for the estate. Its scope is NULL for the default one.
type factRow struct {
	bun.BaseModel `bun:"table:run_facts,alias:f"`
	Host          string    `bun:",pk"`
	GatheredAt    time.Time `bun:",pk"`
	RunSeq        int64     `bun:",pk"`
	RunID         string    `bun:",skipupdate"`
	ScopeID       number
	Codec         int
	Facts         []byte
}

// SaveFacts returns RunNotFound for an unknown run.
func (s *Store) SaveFacts(ctx context.Context, runID string, facts []runs.HostFacts) error {
	q := s.d.InUnit(ctx)
	var of struct {
		Seq     int64
		ScopeID number
	}
	ok, err := db.First(ctx, q.NewSelect().TableExpr("runs AS r").Column("seq", "scope_id").Where("r.id = ?", runID), &of)
	if err != nil {
		return fmt.Errorf("save facts: %w", err)
	}
	if !ok {
		return notFound(runID)
	}
	facts = newestByKey(facts, func(f runs.HostFacts) string {
		return clean(f.Host) + "\x00" + db.Cut(f.GatheredAt).Format(time.RFC3339Nano)
	})
	for _, f := range facts {
		row := factRow{Host: clean(f.Host), GatheredAt: f.GatheredAt, RunSeq: of.Seq, RunID: runID, ScopeID: of.ScopeID}
		row.Codec, row.Facts = s.codec.Pack(f.Facts)
		if _, err := db.Modify(ctx, q.NewInsert().Model(&row).
			On("CONFLICT (host, gathered_at, run_seq) DO UPDATE")); err != nil {
			return fmt.Errorf("save the facts of %s: %w", f.Host, err)
		}
	}
	return nil
}

func (s *Store) TakeFacts(ctx context.Context, limit int) ([]runs.GatheredFacts, error) {
	q := s.d.InUnit(ctx)
	var rows []factRow
	if err := q.NewSelect().Model(&rows).OrderExpr("f.gathered_at, f.host, f.run_seq").
		Apply(db.AtMost(limit), s.dialect.LockSkip).Scan(ctx); err != nil {
		return nil, db.Wrap(err, "take facts")
	}
	out, bytes := make([]runs.GatheredFacts, 0, len(rows)), 0
	for _, r := range rows {
		if bytes >= runs.MaxFacts {
			break
		}
		objects, err := s.objectsOf(ctx, q, r.ScopeID)
		if err != nil {
			return nil, err
		}
		facts, err := s.codec.Unpack(r.Codec, r.Facts)
		if err != nil {
			return nil, fmt.Errorf("read the facts of %s: %w", r.Host, err)
		}
		bytes += len(facts)
		out = append(out, runs.GatheredFacts{RunID: r.RunID, Objects: objects,
			HostFacts: runs.HostFacts{Host: r.Host, GatheredAt: r.GatheredAt.UTC(), Facts: facts}})
	}
	for part := range slices.Chunk(rows[:len(out)], rowsPerInsert) {
		if _, err := db.Modify(ctx, q.NewDelete().Model(&part).WherePK()); err != nil {
			return nil, fmt.Errorf("take facts: %w", err)
		}
	}
	return out, nil
}
