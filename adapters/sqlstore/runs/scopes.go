package runs

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// scopeOf returns the scope of a new run, NULL if it is the default one. It changes the run's objects to their stored
// form. A run without objects gets those that its record names.
func (s *Store) scopeOf(ctx context.Context, q bun.IDB, r *runs.Run) (number, error) {
	if len(r.Objects) == 0 {
		r.Objects = runs.ObjectsOf(r)
	}
	id, stored, err := s.scopes.Of(ctx, q, r.Objects)
	if err != nil {
		return number{}, fmt.Errorf("store the objects of run %s: %w", r.ID, err)
	}
	r.Objects = stored
	return number{id, id != scopes.Default}, nil
}

func (s *Store) Objects(ctx context.Context, id string) ([]string, error) {
	q := s.d.Read(ctx)
	var w row
	ok, err := db.First(ctx, q.NewSelect().Model(&w).Column("scope_id").Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("read the objects of run %s: %w", id, err)
	}
	if !ok {
		return nil, notFound(id)
	}
	return s.objectsOf(ctx, q, w.ScopeID)
}

func (s *Store) Unfinished(ctx context.Context, object string, limit int) (list []string, total int, err error) {
	q := s.d.Read(ctx)
	if strings.HasPrefix(object, string(ids.Credential)) {
		return needing(ctx, q, object, limit)
	}
	of := q.NewSelect().TableExpr("run_scope_objects AS so").Column("so.scope_id").Where("so.object = ?", object)
	live := q.NewSelect().TableExpr("runs AS r").Column("r.id").
		Where("r.parent_id IS NULL AND r.status IN ('pending_approval', 'pending', 'running') AND r.scope_id IN (?)", of)
	if total, err = db.Total(ctx, live); err != nil || total == 0 {
		return nil, 0, err
	}
	if err := live.OrderExpr("r.created_at, r.seq").Apply(db.AtMost(limit)).Scan(ctx, &list); err != nil {
		return nil, 0, db.Wrap(err, "look for runs that name an object")
	}
	return list, total, nil
}

// objectsOf returns the objects of a scope, which the caller may keep.
func (s *Store) objectsOf(ctx context.Context, q bun.IDB, scope number) ([]string, error) {
	return s.scopes.Objects(ctx, q, scope.n)
}
