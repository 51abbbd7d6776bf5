package scheduling

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

type schedule struct {
	bun.BaseModel `bun:"table:schedules,alias:o"`
	record
	scheduleColumns
	TemplateID string
}

// scheduleColumns is scheduling.Schedule with the names of its columns.
type scheduleColumns struct {
	scheduling.Record `bun:"-"`
	Cron              string
	Timezone          string
	Enabled           bool
	Overlap           scheduling.Overlap
	Target            scheduling.Target
	NextRunAt         time.Time `bun:",nullzero"`
	LastRunAt         time.Time `bun:",nullzero,skipupdate"`
	LastRunID         string    `bun:",skipupdate"`
	LastError         string    `bun:",skipupdate"`
}

// scheduleObject is an object that a schedule refers to.
type scheduleObject struct {
	bun.BaseModel `bun:"table:schedule_objects,alias:so"`
	ScheduleID    string
	Object        string
}

func scheduleRow(r scheduling.Schedule) schedule {
	return schedule{record: recordRow(r.Record), scheduleColumns: scheduleColumns(r), TemplateID: r.Target.TemplateID}
}

func (r schedule) Object() scheduling.Schedule {
	out := scheduling.Schedule(r.scheduleColumns)
	out.Record = r.record.record()
	return out
}

var schedules = objects.Kind[scheduling.Schedule, schedule]{Noun: "schedule", Missing: scheduling.ScheduleNotFound,
	NoOrg: noOrg}

// objectsOf returns the objects that decide who may read a schedule with the target: all that it refers to, and the
// default queue for runs and pipelines without one.
func objectsOf(t *scheduling.Target) []string {
	var out []string
	switch {
	case t.Run != nil:
		out = append(runs.ObjectsOf(&runs.Run{Spec: t.Run.Spec}), t.Run.CredentialIDs...)
	case t.Pipeline != nil:
		p := t.Pipeline
		g := &runs.Graph{Steps: make([]runs.StepState, len(p.Steps))}
		for i := range p.Steps {
			g.Steps[i].StepSpec = p.Steps[i]
			out = append(out, p.Steps[i].CredentialIDs...)
		}
		spec := runs.Spec{TemplateID: p.TemplateID, ProjectID: p.ProjectID, InventoryID: p.InventoryID, Queue: p.Queue}
		out = append(append(out, p.CredentialIDs...), runs.ObjectsOf(&runs.Run{Spec: spec, Graph: g})...)
	default:
		out = []string{t.TemplateID}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// objectsPerInsert limits the length of one statement.
const objectsPerInsert = 200

func putObjects(ctx context.Context, q bun.IDB, s *scheduling.Schedule) error {
	for part := range slices.Chunk(objectsOf(&s.Target), objectsPerInsert) {
		rows := make([]scheduleObject, len(part))
		for i, o := range part {
			rows[i] = scheduleObject{ScheduleID: s.ID, Object: o}
		}
		if _, err := db.Modify(ctx, q.NewInsert().Model(&rows)); err != nil {
			return fmt.Errorf("store the references of a schedule: %w", err)
		}
	}
	return nil
}

// Errors: NameTaken also for an id that exists; Invalid naming org_id for a missing organization.
func (s *Store) InsertSchedule(ctx context.Context, r scheduling.Schedule) error {
	if err := schedules.Insert(ctx, s.d, scheduleRow(r)); err != nil {
		return err
	}
	return putObjects(ctx, s.d.InUnit(ctx), &r)
}

func (s *Store) ScheduleByID(ctx context.Context, id string) (scheduling.Schedule, error) {
	return schedules.ByID(ctx, s.d.Read(ctx), id)
}

func (s *Store) ListSchedules(
	ctx context.Context, scope access.Scope, f scheduling.Filter, w page.Window,
) ([]scheduling.Schedule, int, error) {
	q, text, args := s.d.Read(ctx), "1 = 1", []any(nil)
	if !scope.All {
		readable, of := visible.Where(scope, "so.object")
		text, args = "NOT EXISTS (?)", []any{q.NewSelect().Model((*scheduleObject)(nil)).ColumnExpr("1").
			Where("so.schedule_id = o.id").Where("NOT "+readable, of...)}
	}
	return schedules.List(ctx, q, visibleBy(scope, f, text, args),
		catalog.Filter{Name: f.Name, Names: f.Names, Org: f.Org}, w)
}

// Errors: Invalid naming org_id for a missing organization.
func (s *Store) UpdateSchedule(
	ctx context.Context, r scheduling.Schedule, revision int64,
) (scheduling.Schedule, error) {
	is, err := schedules.Update(ctx, s.d, scheduleRow(r), revision)
	if err != nil {
		return is, err
	}
	q := s.d.InUnit(ctx)
	if _, err := db.Modify(ctx, q.NewDelete().Model((*scheduleObject)(nil)).Where("schedule_id = ?", r.ID)); err != nil {
		return is, fmt.Errorf("delete the references of a schedule: %w", err)
	}
	return is, putObjects(ctx, q, &r)
}

// Its slots are deleted with it.
func (s *Store) DeleteSchedule(ctx context.Context, id string, revision int64) error {
	return schedules.Remove(ctx, s.d, id, revision)
}
