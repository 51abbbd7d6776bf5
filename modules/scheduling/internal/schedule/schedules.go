package schedule

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/modules/scheduling/internal/records"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Topic is the topic of the signal that a schedule was stored; the payload is its id.
const Topic = "schedule"

// Schedules implements scheduling.Schedules.
type Schedules struct {
	object.Kernel
	permissions *object.Permissions
	store       scheduling.ScheduleStore
	slots       scheduling.SlotStore
	checker     TargetChecker
	times       Times
	signals     events.Signals
	targets     notify.Targets
}

var _ scheduling.Schedules = (*Schedules)(nil)

// New creates a Schedules.
func New(
	k object.Kernel, p *object.Permissions, s scheduling.ScheduleStore, slots scheduling.SlotStore, j TargetChecker,
	t Times, sig events.Signals, n notify.Targets,
) *Schedules {
	return &Schedules{Kernel: k, permissions: p, store: s, slots: slots, checker: j, times: t, signals: sig, targets: n}
}

const kind = "schedule"

func missing(id string) error { return scheduling.ScheduleNotFound.New("no schedule %q", id) }

func (s *Schedules) Create(ctx context.Context, x scheduling.Schedule) (scheduling.Schedule, error) {
	if err := s.settle(ctx, &x); err != nil {
		return scheduling.Schedule{}, err
	}
	if err := s.permissions.CheckOrgs(ctx, kind, x.Org); err != nil {
		return scheduling.Schedule{}, err
	}
	made := scheduling.Schedule{Cron: x.Cron, Timezone: x.Timezone, Enabled: x.Enabled, Overlap: x.Overlap}
	made.Name, made.Org, made.Owner = x.Name, x.Org, records.Owner(ctx)
	s.Created(ctx, ids.Schedule, &made.Record.Record)
	sealedTargets, err := s.sealTargets(ctx, x.Target, scheduling.Target{})
	if err != nil {
		return scheduling.Schedule{}, err
	}
	err = s.Unit.Do(ctx, func(ctx context.Context) (err error) {
		if made.Target, err = s.storeTargets(ctx, x.Target, sealedTargets); err != nil {
			return err
		}
		if err := s.plan(ctx, &made); err != nil {
			return err
		}
		if err := s.store.InsertSchedule(ctx, made); err != nil {
			return err
		}
		return s.note(ctx, audit.ScheduleCreate, &made)
	})
	if err != nil {
		return scheduling.Schedule{}, err
	}
	s.Logged(ctx, "schedule created", made.ID)
	return made, nil
}

// settle normalizes and checks the fields that a caller sets.
func (s *Schedules) settle(ctx context.Context, x *scheduling.Schedule) (err error) {
	if x.Name, err = object.Name(x.Name); err != nil {
		return err
	}
	if x.Cron, err = s.times.Check(x.Cron, x.Timezone); err != nil {
		return err
	}
	switch x.Overlap {
	case "":
		x.Overlap = scheduling.OverlapSkip
	case scheduling.OverlapSkip, scheduling.OverlapQueue, scheduling.OverlapAllow:
	default:
		return fault.NoneOf("overlap", x.Overlap, scheduling.OverlapSkip, scheduling.OverlapQueue,
			scheduling.OverlapAllow)
	}
	x.Target = clean(x.Target)
	input := asStored(x.Target)
	return s.checker.target(ctx, &input, x.Enabled)
}

// plan sets the next slot by the time of the store, which decides which slots are due.
func (s *Schedules) plan(ctx context.Context, x *scheduling.Schedule) error {
	now, err := s.slots.Now(ctx)
	if err != nil {
		return err
	}
	x.NextRunAt, err = s.times.First(x, now)
	return err
}

// note stores the references of a schedule, records its change, and signals the engines.
func (s *Schedules) note(ctx context.Context, a audit.Action, x *scheduling.Schedule) error {
	if err := refs(&x.Target).Store(ctx, s.permissions.Usage, x.ID); err != nil {
		return err
	}
	if err := s.record(ctx, a, x); err != nil {
		return err
	}
	if err := s.signals.Signal(ctx, Topic, x.ID); err != nil {
		return fmt.Errorf("wake whoever fires schedules: %w", err)
	}
	return nil
}

// record records the schedule by settings and ids, without names of people and values of a target.
func (s *Schedules) record(ctx context.Context, a audit.Action, x *scheduling.Schedule) error {
	return s.Recorder.Record(ctx, audit.Entry{
		Action: a, Object: audit.Object{Kind: kind, ID: x.ID, Name: x.Name},
		Detail: map[string]any{
			"cron": x.Cron, "timezone": x.Timezone, "enabled": x.Enabled, "org_id": x.Org, "owner": x.Owner,
			"require_approval": x.Target.RequireApproval, "dry_run": x.Target.DryRun, "overlap": string(x.Overlap),
			"target": targetKind(&x.Target), "names": object.Texts(refs(&x.Target).IDs()),
		},
	})
}

func (s *Schedules) Get(ctx context.Context, id string) (scheduling.Schedule, error) {
	x, err := s.store.ScheduleByID(ctx, id)
	if err != nil {
		return scheduling.Schedule{}, err
	}
	ok, err := s.permissions.CanRead(ctx, x.Org, objects(&x.Target)...)
	if err == nil && !ok {
		err = missing(id)
	}
	if err != nil {
		return scheduling.Schedule{}, err
	}
	return x, nil
}

func (s *Schedules) List(ctx context.Context, f scheduling.Filter, w page.Window) ([]scheduling.Schedule, int, error) {
	scope, err := s.permissions.Scope(ctx)
	if err != nil {
		return nil, 0, err
	}
	return s.store.ListSchedules(ctx, scope, f, w)
}

func (s *Schedules) Update(
	ctx context.Context, id string, revision int64, x scheduling.Schedule,
) (out scheduling.Schedule, err error) {
	err = s.Retry(ctx, revision, func() error {
		out, err = s.update(ctx, id, revision, x)
		return err
	})
	if err != nil {
		return scheduling.Schedule{}, err
	}
	s.Logged(ctx, "schedule changed", id)
	return out, nil
}

// update changes only the revision whose rights were checked.
func (s *Schedules) update(
	ctx context.Context, id string, revision int64, x scheduling.Schedule,
) (out scheduling.Schedule, err error) {
	was, err := s.reach(ctx, id, revision, x.Org)
	if err != nil {
		return out, err
	}
	if err := s.settle(ctx, &x); err != nil {
		return out, err
	}
	next := was
	next.Name, next.Org, next.Owner, next.UpdatedAt = x.Name, x.Org, records.Owner(ctx), s.Clock.Now()
	next.Cron, next.Timezone, next.Enabled, next.Target = x.Cron, x.Timezone, x.Enabled, x.Target
	next.Overlap = x.Overlap
	sealedTargets, err := s.sealTargets(ctx, x.Target, was.Target)
	if err != nil {
		return out, err
	}
	err = s.Unit.Do(ctx, func(ctx context.Context) error {
		changed := next
		if changed.Target, err = s.storeTargets(ctx, x.Target, sealedTargets); err != nil {
			return err
		}
		if err := s.plan(ctx, &changed); err != nil {
			return err
		}
		if out, err = s.store.UpdateSchedule(ctx, changed, was.Revision); err != nil {
			return err
		}
		return s.note(ctx, audit.ScheduleUpdate, &out)
	})
	return out, err
}

// reach returns a schedule that the caller may manage, in its own organization and in its new ones.
func (s *Schedules) reach(ctx context.Context, id string, revision int64, orgs ...string) (scheduling.Schedule, error) {
	was, err := s.Get(ctx, id)
	if err != nil {
		return was, err
	}
	if err := s.permissions.CheckOrgs(ctx, kind, append([]string{was.Org}, orgs...)...); err != nil {
		return was, err
	}
	if revision != 0 && revision != was.Revision {
		return was, scheduling.RevisionChanged.New("the schedule was changed meanwhile")
	}
	return was, nil
}

func (s *Schedules) Delete(ctx context.Context, id string, revision int64) error {
	err := s.Retry(ctx, revision, func() error { return s.remove(ctx, id, revision) })
	if err == nil {
		s.Logged(ctx, "schedule deleted", id)
	}
	return err
}

func (s *Schedules) remove(ctx context.Context, id string, revision int64) error {
	was, err := s.reach(ctx, id, revision)
	if err != nil {
		return err
	}
	return s.Unit.Do(ctx, func(ctx context.Context) error {
		if err := s.store.DeleteSchedule(ctx, id, was.Revision); err != nil {
			return err
		}
		if err := s.permissions.Usage.Name(ctx, id, nil); err != nil {
			return err
		}
		return s.record(ctx, audit.ScheduleDelete, &was)
	})
}
