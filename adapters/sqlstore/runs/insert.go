package runs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// Insert does not store the actor's address.
func (s *Store) Insert(ctx context.Context, r *runs.Run) error {
	q := s.d.InUnit(ctx)
	scope, err := s.scopeOf(ctx, q, r)
	if err != nil {
		return err
	}
	if err := s.insertRow(ctx, q, r, scope); err != nil {
		return err
	}
	if docs, some, err := documentsOf(r); err != nil || some {
		if err == nil {
			err = s.models.documents.Insert(ctx, q, []documents{docs}, "")
		}
		if err != nil {
			return fmt.Errorf("insert run %s: %w", r.ID, err)
		}
	}
	if r.ParentID == "" {
		if err := s.index(ctx, r); err != nil {
			return err
		}
		if err := s.insertLabels(ctx, q, r); err != nil {
			return err
		}
	}
	return s.addCounts(ctx, countOf(r, r.Status, 1))
}

// insertRow sets the run's Seq, and what it has to get before it is executed.
func (s *Store) insertRow(ctx context.Context, q bun.IDB, r *runs.Run, scope number) error {
	k := keysOf(r)
	if r.ParentID == "" {
		r.Slotted = len(k.always) > 0
		r.Gated = r.Slotted || r.Wait != nil
	}
	w, err := rowOf(r, scope)
	if err != nil {
		return fmt.Errorf("insert run %s: %w", r.ID, err)
	}
	query, args, err := s.models.runs.Insertion([]row{*w}, " ON CONFLICT DO NOTHING RETURNING seq, "+k.limited())
	if err != nil {
		return fmt.Errorf("insert run %s: %w", r.ID, err)
	}
	inserted, ok, err := db.QueryRow[struct {
		Seq    int64
		Limits bool
	}](ctx, q, query, append(args, anys(k.named)...)...)
	if err != nil {
		return fmt.Errorf("insert run %s: %w", r.ID, err)
	}
	if !ok {
		return runs.RunStateChanged.New("the run exists already")
	}
	r.Seq = inserted.Seq
	if r.Wait != nil {
		if _, err := s.putRow(ctx, q, r.Seq, r.Wait); err != nil {
			return fmt.Errorf("store what the windows say about run %s: %w", r.ID, err)
		}
	}
	return s.demand(ctx, q, r, k, inserted.Limits)
}

// claimable reports whether an executor may claim the run when it is pending. The only such parent is a split whose
// hosts are not resolved yet.
func claimable(r *runs.Run) bool {
	if r.Kind == runs.Split {
		return r.ShardHosts == nil && r.ShardCount == 0
	}
	return !r.Kind.Parent()
}

// rest returns the part of a spec that has no columns of its own.
func rest(spec runs.Spec) (runs.Spec, bool) {
	spec.Tool, spec.Playbook, spec.Command, spec.Queue, spec.Priority = "", "", "", "", 0
	spec.Env, spec.LimitHosts = nil, nil
	c := &spec.Controls
	plain := c.Limit == "" && len(c.Tags)+len(c.SkipTags) == 0 && c.Forks == 0 && c.Verbosity == 0 && !c.DiffMode
	return spec, !plain || spec.InventoryID != "" || spec.Inventory != "" || spec.ProjectID != "" || spec.DryRun ||
		spec.DryRunExecutes || spec.Shards != 0 || spec.TimeoutSeconds != 0 ||
		len(spec.CredentialIDs)+len(spec.Notifications)+len(spec.Templated)+len(spec.FailOn)+len(spec.Locks) > 0 ||
		spec.RequireApproval || spec.ExclusiveHosts || spec.TemplateID != "" || spec.InventoryQuery != ""
}

// putDocument adds one document to those of a run.
func putDocument(ctx context.Context, q bun.IDB, seq int64, column string, v any) error {
	doc, err := db.Document(v)
	if err != nil {
		return err
	}
	_, err = db.Modify(ctx, q.NewInsert().Model(&documents{RunSeq: number{seq, true}}).Column("run_seq", column).
		Value(column, "?", doc).
		On("CONFLICT (run_seq) DO UPDATE").Returning("NULL"))
	return err
}

type runLabel struct {
	bun.BaseModel `bun:"table:run_labels"`
	RunSeq        int64
	Key           string
	Value         string
	CreatedAt     db.Time
}

func (s *Store) insertLabels(ctx context.Context, q bun.IDB, r *runs.Run) error {
	var rows []runLabel
	labels := r.Conceal().Labels
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		rows = append(rows, runLabel{RunSeq: r.Seq, Key: key, Value: labels[key], CreatedAt: db.At(r.CreatedAt)})
	}
	return s.models.labels.Insert(ctx, q, rows, "")
}
