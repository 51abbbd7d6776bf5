package scheduling

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

type trigger struct {
	bun.BaseModel `bun:"table:triggers,alias:o"`
	record
	triggerColumns
	TokenHash [32]byte `bun:",skipupdate"`
	Sealed    []byte   `bun:",skipupdate"`
}

// triggerColumns is scheduling.Trigger with the names of its columns.
type triggerColumns struct {
	scheduling.Record `bun:"-"`
	TemplateID        string
	RequireSignature  bool
	Branch            string
	Events            []string
	LastFiredAt       time.Time `bun:",nullzero,skipupdate"`
	LastRunID         string    `bun:",skipupdate"`
	LastError         string    `bun:",skipupdate"`
}

func triggerRow(t scheduling.StoredTrigger) trigger {
	return trigger{record: recordRow(t.Record), triggerColumns: triggerColumns(t.Trigger), TokenHash: t.TokenHash,
		Sealed: t.Sealed}
}

func (t trigger) Object() scheduling.StoredTrigger {
	out := scheduling.StoredTrigger{Trigger: scheduling.Trigger(t.triggerColumns), TokenHash: t.TokenHash,
		Sealed: t.Sealed}
	out.Record = t.record.record()
	return out
}

var triggers = objects.Kind[scheduling.StoredTrigger, trigger]{Noun: "trigger", Missing: scheduling.TriggerNotFound,
	NoOrg: noOrg}

// Errors: NameTaken also for an id or a token that exists; Invalid naming org_id for a missing organization.
func (s *Store) InsertTrigger(ctx context.Context, t scheduling.StoredTrigger) error {
	return triggers.Insert(ctx, s.d, triggerRow(t))
}

func (s *Store) TriggerByID(ctx context.Context, id string) (scheduling.StoredTrigger, error) {
	return triggers.ByID(ctx, s.d.Read(ctx), id)
}

func (s *Store) TriggerByToken(ctx context.Context, hash [32]byte) (scheduling.StoredTrigger, error) {
	var row trigger
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Where("o.token_hash = ?", hash[:]))
	return row.Object(), db.OrMissing(ok, db.Wrap(err, "read the trigger of a token"),
		scheduling.TriggerNotFound.New("no trigger has this token"))
}

func (s *Store) ListTriggers(
	ctx context.Context, scope access.Scope, f scheduling.Filter, w page.Window,
) ([]scheduling.Trigger, int, error) {
	readable, args := visible.Where(scope, "o.template_id")
	found, n, err := triggers.List(ctx, s.d.Read(ctx), visibleBy(scope, f, readable, args),
		catalog.Filter{Name: f.Name, Names: f.Names, Org: f.Org}, w)
	out := make([]scheduling.Trigger, len(found))
	for i, t := range found {
		out[i] = t.Trigger
	}
	return out, n, err
}

// Errors: Invalid naming org_id for a missing organization.
func (s *Store) UpdateTrigger(ctx context.Context, t scheduling.Trigger, revision int64) (scheduling.Trigger, error) {
	is, err := triggers.Update(ctx, s.d, triggerRow(scheduling.StoredTrigger{Trigger: t}), revision)
	return is.Trigger, err
}

func (s *Store) ReplaceSecret(
	ctx context.Context, id string, sealed []byte, when time.Time,
) (scheduling.Trigger, error) {
	q := s.d.InUnit(ctx)
	_, err := db.Modify(ctx, q.NewUpdate().Model((*trigger)(nil)).
		Set("sealed = ?, updated_at = ?, revision = revision + 1", sealed, db.At(when)).Where("o.id = ?", id))
	if err != nil {
		return scheduling.Trigger{}, fmt.Errorf("change a trigger: %w", err)
	}
	t, err := triggers.ByID(ctx, q, id)
	return t.Trigger, err
}

// Its deliveries are deleted with it.
func (s *Store) DeleteTrigger(ctx context.Context, id string, revision int64) error {
	return triggers.Remove(ctx, s.d, id, revision)
}
