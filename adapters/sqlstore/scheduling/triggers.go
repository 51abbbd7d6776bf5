package scheduling

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	triggerColumns = "id, name, org_id, created_by, owner, created_at, updated_at, revision, template_id, require_signature, branch, events, " +
		"token_hash, sealed, last_fired_at, last_run_id, last_error"
	selectTrigger = "SELECT r.id, r.name, COALESCE(r.org_id, ''), r.created_by, r.owner, r.created_at, r.updated_at, r.revision, r.template_id, " +
		"r.require_signature, r.branch, r.events, r.token_hash, r.sealed, r.last_fired_at, r.last_run_id, r.last_error FROM triggers AS r"
)

func scanStored(r db.Row) (t scheduling.StoredTrigger, err error) {
	var created, updated, fired db.Time
	var events string
	var hash []byte
	err = r.Scan(&t.ID, &t.Name, &t.Org, &t.CreatedBy, &t.Owner, &created, &updated, &t.Revision, &t.TemplateID,
		&t.RequireSignature, &t.Branch, &events, &hash, &t.Sealed, &fired, &t.LastRunID, &t.LastError)
	if err != nil {
		return t, err
	}
	t.CreatedAt, t.UpdatedAt, t.LastFiredAt = created.Time, updated.Time, fired.Time
	if copy(t.TokenHash[:], hash) != len(t.TokenHash) {
		return t, fmt.Errorf("the stored token of trigger %s is no hash", t.ID)
	}
	return t, pack.Read(events, &t.Events)
}

func scanTrigger(r db.Row) (scheduling.Trigger, error) {
	t, err := scanStored(r)
	return t.Trigger, err
}

// InsertTrigger implements scheduling.TriggerStore. An id or a token that exists is NameTaken as well, and an organization that does
// not exist an Invalid fault that names org_id.
func (s *Store) InsertTrigger(ctx context.Context, t scheduling.StoredTrigger) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	events, err := pack.Document(t.Events)
	if err != nil {
		return err
	}
	n, err := db.Exec(ctx, q, "INSERT INTO triggers ("+triggerColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		t.ID, t.Name, db.OrNull(t.Org), t.CreatedBy, t.Owner, db.At(t.CreatedAt), db.At(t.UpdatedAt), t.Revision, t.TemplateID, t.RequireSignature,
		t.Branch, events, t.TokenHash[:], t.Sealed, db.At(t.LastFiredAt), t.LastRunID, t.LastError)
	switch {
	case err != nil:
		return ofTriggers.refused("store", err)
	case n == 0:
		return ofTriggers.taken()
	}
	return nil
}

// TriggerByID implements scheduling.TriggerStore.
func (s *Store) TriggerByID(ctx context.Context, id string) (scheduling.StoredTrigger, error) {
	return triggerByID(ctx, s.d.Read(ctx), id)
}

func triggerByID(ctx context.Context, q bun.IDB, id string) (scheduling.StoredTrigger, error) {
	t, ok, err := db.One(ctx, q, scanStored, selectTrigger+" WHERE r.id = ?", id)
	switch {
	case err != nil:
		return t, fmt.Errorf("read a trigger: %w", err)
	case !ok:
		return t, ofTriggers.none(id)
	}
	return t, nil
}

// TriggerByToken implements scheduling.TriggerStore.
func (s *Store) TriggerByToken(ctx context.Context, hash [32]byte) (scheduling.StoredTrigger, error) {
	t, ok, err := db.One(ctx, s.d.Read(ctx), scanStored, selectTrigger+" WHERE r.token_hash = ?", hash[:])
	switch {
	case err != nil:
		return t, fmt.Errorf("read the trigger of a token: %w", err)
	case !ok:
		return t, scheduling.TriggerNotFound.New("no trigger has this token")
	}
	return t, nil
}

// ListTriggers implements scheduling.TriggerStore.
func (s *Store) ListTriggers(ctx context.Context, scope access.Scope, f scheduling.Filter, w page.Window) ([]scheduling.Trigger, int, error) {
	var only where
	only.filter(f)
	if !scope.All {
		readable, args := visible.Where(scope, "r.template_id")
		only.shown(scope, readable, args)
	}
	q := s.d.Read(ctx)
	n, err := db.Count(ctx, q, "SELECT count(*) FROM triggers AS r"+only.String(), only.args...)
	if err != nil {
		return nil, 0, fmt.Errorf("count triggers: %w", err)
	}
	found, err := db.All(ctx, q, scanTrigger, selectTrigger+only.String()+" ORDER BY r.name, r.id LIMIT ? OFFSET ?",
		append(only.args, w.Rows(), w.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list triggers: %w", err)
	}
	return found, n, nil
}

// UpdateTrigger implements scheduling.TriggerStore. An organization that does not exist is an Invalid fault that names org_id.
func (s *Store) UpdateTrigger(ctx context.Context, t scheduling.Trigger, revision int64) (scheduling.Trigger, error) {
	events, err := pack.Document(t.Events)
	if err != nil {
		return t, err
	}
	same, args := at(revision)
	return s.change(ctx, t.ID, "name = ?, org_id = ?, owner = ?, updated_at = ?, template_id = ?, require_signature = ?, branch = ?, events = ?", same,
		append([]any{t.Name, db.OrNull(t.Org), t.Owner, db.At(t.UpdatedAt), t.TemplateID, t.RequireSignature, t.Branch, events, t.ID}, args...))
}

// ReplaceSecret implements scheduling.TriggerStore.
func (s *Store) ReplaceSecret(ctx context.Context, id string, sealed []byte, when time.Time) (scheduling.Trigger, error) {
	return s.change(ctx, id, "sealed = ?, updated_at = ?", "", []any{sealed, db.At(when), id})
}

func (s *Store) change(ctx context.Context, id, set, same string, args []any) (scheduling.Trigger, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return scheduling.Trigger{}, err
	}
	n, err := db.Exec(ctx, q, "UPDATE triggers SET "+set+", revision = revision + 1 WHERE id = ?"+same, args...)
	switch {
	case err != nil:
		return scheduling.Trigger{}, ofTriggers.refused("change", err)
	case n == 0:
		return scheduling.Trigger{}, ofTriggers.unchanged(ctx, q, id)
	}
	t, err := triggerByID(ctx, q, id)
	return t.Trigger, err
}

// DeleteTrigger implements scheduling.TriggerStore. Its deliveries go with it.
func (s *Store) DeleteTrigger(ctx context.Context, id string, revision int64) error {
	return ofTriggers.remove(ctx, s, id, revision)
}
