package scheduling

import (
	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
)

// Store implements the stores of ports/scheduling. It is safe for concurrent use.
type Store struct {
	d       *db.DB
	dialect db.Dialect
}

var (
	_ scheduling.ScheduleStore = (*Store)(nil)
	_ scheduling.SlotStore     = (*Store)(nil)
	_ scheduling.TriggerStore  = (*Store)(nil)
	_ scheduling.DeliveryStore = (*Store)(nil)
)

// New creates a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d, dialect: d.Dialect()} }

// SealedStores returns the tables with sealed texts: the signing secrets of the triggers.
func (s *Store) SealedStores() []secrets.SealedStore {
	return []secrets.SealedStore{
		&objects.Sealed{D: s.d, What: "triggers", Table: "triggers", Record: func(id string, _ int64) string { return id }},
	}
}

// record is scheduling.Record with the names of its columns.
type record struct {
	objects.Record
	Owner string
}

func recordRow(r scheduling.Record) record { return record{objects.Record(r.Record), r.Owner} }

func (r record) record() scheduling.Record {
	return scheduling.Record{Record: object.Record(r.Record), Owner: r.Owner}
}

func noOrg(_ string, _ error) error { return fault.BadField("org_id", "no such organization") }

// visibleBy returns the condition of a list: schedules or triggers of the filter's template that match text or are in
// an organization whose objects the scope may all read.
func visibleBy(scope access.Scope, f scheduling.Filter, text string, args []any) objects.Condition {
	if len(scope.Orgs) > 0 {
		text, args = "("+text+" OR o.org_id IN (?))", append(args, bun.In(scope.Orgs))
	}
	narrowed := objects.Where(text, args)
	if f.TemplateID != "" {
		narrowed = narrowed.And("o.template_id = ?", f.TemplateID)
	}
	return narrowed
}
