package runs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// planRow is the plan of a run.
type planRow struct {
	bun.BaseModel `bun:"table:run_plans,alias:p"`
	RunSeq        int64 `bun:",pk"`
	Target        string
	Digest        string
	Summary       string
	PlannedBy     string
	ApplyID       string
	PlannedAt     db.Time
	Codec         int
	Findings      []byte
	ID            string `bun:",scanonly"` // of the run
}

func (s *Store) PutPlan(ctx context.Context, p *runs.StoredPlan) error {
	q := s.d.InUnit(ctx)
	seq, err := s.seqOf(ctx, q, p.RunID, "")
	if err != nil {
		return err
	}
	list, err := json.Marshal(p.Findings)
	if err != nil {
		return fmt.Errorf("encode the plan of run %s: %w", p.RunID, err)
	}
	row := planRow{RunSeq: seq, Target: p.Target, Digest: p.Digest, Summary: p.Summary, PlannedBy: p.PlannedBy,
		ApplyID: p.ApplyID, PlannedAt: db.At(p.At)}
	row.Codec, row.Findings = s.codec.Pack(list)
	_, err = db.Modify(ctx, q.NewInsert().Model(&row))
	return db.Wrap(err, "store the plan of run %s", p.RunID)
}

// plans selects the columns of plans, with the id of each run.
func plans(q *bun.SelectQuery, row any) *bun.SelectQuery {
	return q.Model(row).
		ColumnExpr("p.run_seq, p.target, p.digest, p.summary, p.planned_by, p.apply_id, p.planned_at, r.id").
		Join("JOIN runs AS r ON r.seq = p.run_seq")
}

func (s *Store) PlanOf(ctx context.Context, runID string) (*runs.StoredPlan, error) {
	var row planRow
	ok, err := db.First(ctx, plans(s.d.Read(ctx).NewSelect(), &row).ColumnExpr("p.codec, p.findings").
		Where("r.id = ?", runID))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the plan of run %s: %w", runID, err)
	case !ok:
		return nil, runs.PlanNotFound.New("the run %q has no plan", runID)
	}
	p := row.plan()
	data, err := s.codec.Unpack(row.Codec, row.Findings)
	if err == nil {
		err = json.Unmarshal(data, &p.Findings)
	}
	if err != nil {
		return nil, fmt.Errorf("read the findings of run %s: %w", runID, err)
	}
	return &p, nil
}

func (w *planRow) plan() runs.StoredPlan {
	return runs.StoredPlan{Plan: runs.Plan{Summary: w.Summary, Digest: w.Digest}, RunID: w.ID, Target: w.Target,
		PlannedBy: w.PlannedBy, ApplyID: w.ApplyID, At: w.PlannedAt.Time}
}

func (s *Store) LinkPlan(ctx context.Context, runID, applyID string) error {
	q := s.d.InUnit(ctx)
	seq, err := s.seqOf(ctx, q, runID, "")
	if err != nil {
		return err
	}
	_, err = db.Modify(ctx, q.NewUpdate().Model((*planRow)(nil)).Set("apply_id = ?", applyID).Where("run_seq = ?", seq))
	return db.Wrap(err, "link the plan of run %s", runID)
}

func (s *Store) HeldApplies(ctx context.Context, target string) ([]runs.StoredPlan, error) {
	q := s.d.InUnit(ctx)
	if err := s.dialect.LockNames(ctx, q, "plan "+target); err != nil {
		return nil, fmt.Errorf("lock the target of a plan: %w", err)
	}
	var rows []planRow
	err := plans(q.NewSelect(), &rows).Where("p.target = ? AND p.planned_by <> ''", target).
		Where("r.status = ?", runs.PendingApproval).OrderExpr("r.created_at, r.seq").Scan(ctx)
	out := make([]runs.StoredPlan, 0, len(rows))
	for i := range rows {
		out = append(out, rows[i].plan())
	}
	return out, db.Wrap(err, "list the held runs that apply a plan")
}
