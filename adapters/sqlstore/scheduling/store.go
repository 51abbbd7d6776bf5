package scheduling

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Store implements the stores of ports/scheduling. It is safe for concurrent use.
type Store struct {
	d   *db.DB
	say db.Dialect
}

var (
	_ scheduling.ScheduleStore = (*Store)(nil)
	_ scheduling.SlotStore     = (*Store)(nil)
	_ scheduling.TriggerStore  = (*Store)(nil)
	_ scheduling.DeliveryStore = (*Store)(nil)
)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d, say: d.Dialect()} }

func instant(r db.Row) (time.Time, error) {
	var at db.Time
	err := r.Scan(&at)
	return at.Time, err
}

// together runs fn in the unit of ctx, or in one of its own.
func (s *Store) together(ctx context.Context, fn func(ctx context.Context, q bun.IDB) error) error {
	return s.d.Do(ctx, func(ctx context.Context) error {
		q, err := s.d.Write(ctx)
		if err != nil {
			return err
		}
		return fn(ctx, q)
	})
}

// kind is a table of records that are named, changed and dropped alike.
type kind struct {
	table, noun string
	missing     fault.Code
}

var (
	ofSchedules = kind{"schedules", "schedule", scheduling.ScheduleNotFound}
	ofTriggers  = kind{"triggers", "trigger", scheduling.TriggerNotFound}
)

func (k kind) none(id string) error { return k.missing.New("no %s %q", k.noun, id) }

func (k kind) taken() error {
	f := scheduling.NameTaken.New("name: the name is taken")
	f.Fields = []fault.Field{{Location: "name", Message: "the name is taken"}}
	return f
}

// refused says which member of a record a failed write is about.
func (k kind) refused(verb string, err error) error {
	switch {
	case db.IsUnique(err):
		return k.taken()
	case db.IsForeignKey(err):
		return fault.BadField("org_id", "no such organization")
	default:
		return fmt.Errorf("%s a %s: %w", verb, k.noun, err)
	}
}

// unchanged says why a write for a revision found no record.
func (k kind) unchanged(ctx context.Context, q bun.IDB, id string) error {
	n, err := db.Count(ctx, q, "SELECT count(*) FROM "+k.table+" WHERE id = ?", id)
	switch {
	case err != nil:
		return fmt.Errorf("look for a %s: %w", k.noun, err)
	case n == 0:
		return k.none(id)
	default:
		return scheduling.RevisionChanged.New("the %s was changed meanwhile", k.noun)
	}
}

// at narrows a write to a revision, 0 for any.
func at(revision int64) (condition string, args []any) {
	if revision == 0 {
		return "", nil
	}
	return " AND revision = ?", []any{revision}
}

func (k kind) remove(ctx context.Context, s *Store, id string, revision int64) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	same, args := at(revision)
	n, err := db.Exec(ctx, q, "DELETE FROM "+k.table+" WHERE id = ?"+same, append([]any{id}, args...)...)
	switch {
	case err != nil:
		return fmt.Errorf("delete a %s: %w", k.noun, err)
	case n == 0:
		return k.unchanged(ctx, q, id)
	}
	return nil
}

// where are the conditions of a list.
type where struct {
	parts []string
	args  []any
}

func (w *where) add(condition string, args ...any) {
	w.parts = append(w.parts, condition)
	w.args = append(w.args, args...)
}

// shown keeps what a condition lets through, and what belongs to an organization whose objects the scope reads whatever they name.
func (w *where) shown(scope access.Scope, condition string, args []any) {
	if len(scope.Orgs) > 0 {
		condition = "(" + condition + " OR r.org_id IN (?" + strings.Repeat(", ?", len(scope.Orgs)-1) + "))"
		args = append([]any(nil), args...)
		for _, org := range scope.Orgs {
			args = append(args, org)
		}
	}
	w.add(condition, args...)
}

func (w *where) filter(f scheduling.Filter) {
	if f.Name != "" {
		w.add("r.name = ?", f.Name)
	}
	if f.Org != "" {
		w.add("r.org_id = ?", f.Org)
	}
	if f.TemplateID != "" {
		w.add("r.template_id = ?", f.TemplateID)
	}
}

func (w *where) String() string {
	if len(w.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.parts, " AND ")
}
