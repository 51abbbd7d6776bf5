package scheduling

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	scheduleColumns = "id, name, org_id, created_by, owner, created_at, updated_at, revision, cron, timezone, enabled, template_id, target, " +
		"next_run_at, last_run_at, last_run_id, last_error"
	selectSchedule = "SELECT r.id, r.name, COALESCE(r.org_id, ''), r.created_by, r.owner, r.created_at, r.updated_at, r.revision, r.cron, " +
		"r.timezone, r.enabled, r.target, r.next_run_at, r.last_run_at, r.last_run_id, r.last_error FROM schedules AS r"
)

func scanSchedule(r db.Row) (s scheduling.Schedule, err error) {
	var created, updated, next, last db.Time
	var target string
	err = r.Scan(&s.ID, &s.Name, &s.Org, &s.CreatedBy, &s.Owner, &created, &updated, &s.Revision, &s.Cron,
		&s.Timezone, &s.Enabled, &target, &next, &last, &s.LastRunID, &s.LastError)
	if err != nil {
		return s, err
	}
	s.CreatedAt, s.UpdatedAt, s.NextRunAt, s.LastRunAt = created.Time, updated.Time, next.Time, last.Time
	return s, pack.Read(target, &s.Target)
}

// objectsOf returns what decides who may read a schedule with the target: all that it names, with the queue of a run or a pipeline
// that names none.
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

// objectsPerInsert bounds one statement's text.
const objectsPerInsert = 200

func putObjects(ctx context.Context, q bun.IDB, s *scheduling.Schedule) error {
	for part := range slices.Chunk(objectsOf(&s.Target), objectsPerInsert) {
		args := make([]any, 0, 2*len(part))
		for _, o := range part {
			args = append(args, s.ID, o)
		}
		_, err := db.Exec(ctx, q, "INSERT INTO schedule_objects (schedule_id, object) VALUES "+strings.Repeat("(?, ?), ", len(part)-1)+"(?, ?)", args...)
		if err != nil {
			return fmt.Errorf("store what a schedule names: %w", err)
		}
	}
	return nil
}

// InsertSchedule implements scheduling.ScheduleStore. An id that exists is NameTaken as well, and an organization that does not exist
// an Invalid fault that names org_id.
func (s *Store) InsertSchedule(ctx context.Context, r scheduling.Schedule) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	target, err := pack.Document(r.Target)
	if err != nil {
		return err
	}
	n, err := db.Exec(ctx, q, "INSERT INTO schedules ("+scheduleColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		r.ID, r.Name, db.OrNull(r.Org), r.CreatedBy, r.Owner, db.At(r.CreatedAt), db.At(r.UpdatedAt), r.Revision, r.Cron, r.Timezone, r.Enabled,
		r.Target.TemplateID, target, db.At(r.NextRunAt), db.At(r.LastRunAt), r.LastRunID, r.LastError)
	switch {
	case err != nil:
		return ofSchedules.refused("store", err)
	case n == 0:
		return ofSchedules.taken()
	}
	return putObjects(ctx, q, &r)
}

// ScheduleByID implements scheduling.ScheduleStore.
func (s *Store) ScheduleByID(ctx context.Context, id string) (scheduling.Schedule, error) {
	return scheduleByID(ctx, s.d.Read(ctx), id)
}

func scheduleByID(ctx context.Context, q bun.IDB, id string) (scheduling.Schedule, error) {
	r, ok, err := db.One(ctx, q, scanSchedule, selectSchedule+" WHERE r.id = ?", id)
	switch {
	case err != nil:
		return r, fmt.Errorf("read a schedule: %w", err)
	case !ok:
		return r, ofSchedules.none(id)
	}
	return r, nil
}

// ListSchedules implements scheduling.ScheduleStore.
func (s *Store) ListSchedules(ctx context.Context, scope access.Scope, f scheduling.Filter, w page.Window) ([]scheduling.Schedule, int, error) {
	var only where
	only.filter(f)
	if !scope.All {
		readable, args := visible.Where(scope, "so.object")
		only.shown(scope, "NOT EXISTS (SELECT 1 FROM schedule_objects AS so WHERE so.schedule_id = r.id AND NOT "+readable+")", args)
	}
	q := s.d.Read(ctx)
	n, err := db.Count(ctx, q, "SELECT count(*) FROM schedules AS r"+only.String(), only.args...)
	if err != nil {
		return nil, 0, fmt.Errorf("count schedules: %w", err)
	}
	found, err := db.All(ctx, q, scanSchedule, selectSchedule+only.String()+" ORDER BY r.name, r.id LIMIT ? OFFSET ?",
		append(only.args, w.Rows(), w.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list schedules: %w", err)
	}
	return found, n, nil
}

// UpdateSchedule implements scheduling.ScheduleStore. An organization that does not exist is an Invalid fault that names org_id.
func (s *Store) UpdateSchedule(ctx context.Context, r scheduling.Schedule, revision int64) (scheduling.Schedule, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return r, err
	}
	target, err := pack.Document(r.Target)
	if err != nil {
		return r, err
	}
	same, args := at(revision)
	n, err := db.Exec(ctx, q, "UPDATE schedules SET name = ?, org_id = ?, owner = ?, updated_at = ?, revision = revision + 1, cron = ?, timezone = ?, "+
		"enabled = ?, template_id = ?, target = ?, next_run_at = ? WHERE id = ?"+same,
		append([]any{r.Name, db.OrNull(r.Org), r.Owner, db.At(r.UpdatedAt), r.Cron, r.Timezone, r.Enabled, r.Target.TemplateID, target,
			db.At(r.NextRunAt), r.ID}, args...)...)
	switch {
	case err != nil:
		return r, ofSchedules.refused("change", err)
	case n == 0:
		return r, ofSchedules.unchanged(ctx, q, r.ID)
	}
	if _, err := db.Exec(ctx, q, "DELETE FROM schedule_objects WHERE schedule_id = ?", r.ID); err != nil {
		return r, fmt.Errorf("forget what a schedule named: %w", err)
	}
	if err := putObjects(ctx, q, &r); err != nil {
		return r, err
	}
	return scheduleByID(ctx, q, r.ID)
}

// DeleteSchedule implements scheduling.ScheduleStore. Its slots go with it.
func (s *Store) DeleteSchedule(ctx context.Context, id string, revision int64) error {
	return ofSchedules.remove(ctx, s, id, revision)
}
