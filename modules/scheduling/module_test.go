package scheduling_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlscheduling "github.com/writ-automation/writ/adapters/sqlstore/scheduling"
	module "github.com/writ-automation/writ/modules/scheduling"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/tx"
)

// roles requires every port that the module provides.
type roles struct {
	fx.In

	Schedules scheduling.Schedules
	Planner   scheduling.Planner
	Triggers  scheduling.Triggers
	Hooks     scheduling.Hooks
}

// TestModule starts and stops the application. TestMain detects leaked goroutines.
func TestModule(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	b := setup(t, d, nil)
	p := b.params
	var got roles
	app := fx.New(fx.NopLogger, module.Module,
		fx.Provide(
			fx.Annotate(func() *sqlscheduling.Store { return b.store }, fx.As(new(scheduling.ScheduleStore)),
				fx.As(new(scheduling.SlotStore)),
				fx.As(new(scheduling.TriggerStore)), fx.As(new(scheduling.DeliveryStore))),
			fx.Annotate(func() *fixture { return b.fixture }, fx.As(new(catalog.Launcher)), fx.As(new(object.Usage)),
				fx.As(new(runs.Submitter)),
				fx.As(new(runs.Checker)), fx.As(new(access.Guard)), fx.As(new(access.Owners)), fx.As(new(scheduling.Owners)),
				fx.As(new(scheduling.Sealer)), fx.As(new(audit.Recorder))),
			func() (tx.Unit, clock.Clock, ids.Generator, *slog.Logger, events.Signals, *time.Location) {
				return p.Unit, p.Clock, p.IDs, p.Log, p.Signals, p.Local
			},
			func() notify.Targets { return masking{} }, func() runs.Reader { return reader{} },
		),
		fx.Supply(module.Config{}), fx.Invoke(func(r roles) { got = r }))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := got.Schedules.Create(b.as("usr_1"), nightly())
	if err != nil {
		t.Fatal(err)
	}
	b.overdue(s.ID)
	b.settled(s.ID)
	if _, err := got.Planner.Preview("@daily", "", 1); err != nil {
		t.Error(err)
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// overdue sets the next slot of a schedule to a past one, and wakes the engine.
func (b *bundle) overdue(id string) time.Time {
	b.t.Helper()
	_, now, _, err := b.store.Due(b.t.Context(), 1)
	if err != nil {
		b.t.Fatal(err)
	}
	slot := now.Truncate(time.Minute)
	err = b.d.Do(b.t.Context(), func(ctx context.Context) error {
		s, err := b.store.ScheduleByID(ctx, id)
		if err != nil {
			return err
		}
		s.NextRunAt = slot
		if _, err := b.store.UpdateSchedule(ctx, s, 0); err != nil {
			return err
		}
		return b.d.Signals().Signal(ctx, "schedule", id)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return slot
}

// settled waits until the last slot of a schedule has a result.
func (b *bundle) settled(id string) scheduling.Schedule {
	b.t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		s, err := b.store.ScheduleByID(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if !s.LastRunAt.IsZero() {
			return s
		}
	}
	b.t.Fatalf("%s did not fire", id)
	return scheduling.Schedule{}
}

// TestFiring fires each kind of target with its owner's rights and under the schedule's own name.
func TestFiring(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.Background.Start()
		defer func() {
			if err := b.Background.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		for i, target := range []scheduling.Target{nightly().Target, aRun(), aPipeline()} {
			s := b.create(nightly(aims(target), func(s *scheduling.Schedule) { s.Name = string(rune('a' + i)) }))
			slot := b.overdue(s.ID)
			got := b.settled(s.ID)
			list := b.fixture.runs()
			m := list[len(list)-1]
			f := scheduling.Firing{Schedule: s, Slot: got.LastRunAt}
			want := &runs.Idempotency{Key: f.Key(), Scope: "schedule", Digest: digest(f.Key())}
			origin := runs.Origin{Source: runs.FromSchedule, SourceID: s.ID}
			switch {
			case m.Run != nil:
				same(t, "origin", origin, m.Run.Origin)
				same(t, "key", want, m.Run.Idempotency)
				same(t, "command", "true", m.Run.Command)
			case m.Pipeline != nil:
				same(t, "origin", origin, m.Pipeline.Origin)
				same(t, "key", want, m.Pipeline.Idempotency)
				same(t, "steps", target.Pipeline.Steps, m.Pipeline.Steps)
			default:
				same(t, "launch", catalog.Launch{Answers: target.Answers, Source: runs.FromSchedule, By: s.ID, Idempotency: want},
					m.Launch)
			}
			same(t, "actor", actor.Actor{Type: actor.System, ID: s.ID, Name: s.Name}, m.Actor)
			if m.Account != "usr_1" || got.LastError != "" || got.LastRunID == "" || got.LastRunAt.Before(slot) ||
				!got.NextRunAt.After(got.LastRunAt) {
				t.Errorf("%+v by %q", got, m.Account)
			}
		}
		for i, target := range []scheduling.Target{nightly().Target, aRun(), aPipeline()} {
			target.RequireApproval, target.DryRun = true, true
			s := b.create(nightly(aims(target), func(s *scheduling.Schedule) { s.Name = "held " + string(rune('a'+i)) }))
			b.overdue(s.ID)
			b.settled(s.ID)
			list := b.fixture.runs()
			m := list[len(list)-1]
			if !m.Launch.RequireApproval && (m.Run == nil || !m.Run.RequireApproval) &&
				(m.Pipeline == nil || !m.Pipeline.RequireApproval) {
				t.Errorf("%d is not held: %+v", i, m)
			}
			if !m.Launch.DryRunOnly && (m.Run == nil || !m.Run.DryRun) && (m.Pipeline == nil || !m.Pipeline.DryRun) {
				t.Errorf("%d is no dry run: %+v", i, m)
			}
		}
		own, err := b.Schedules.Create(t.Context(), nightly(func(s *scheduling.Schedule) { s.Name = "own" }))
		if err != nil {
			t.Fatal(err)
		}
		b.overdue(own.ID)
		b.settled(own.ID)
		list := b.fixture.runs()
		if m := list[len(list)-1]; m.Account != "" || m.Actor.Type != actor.System || m.Actor.ID != own.ID {
			t.Errorf("the application's fires as %+v, %q", m.Actor, m.Account)
		}
		b.fixture.set(func() { b.fixture.gone["usr_1"] = true })
		s := b.create(nightly(func(s *scheduling.Schedule) { s.Name = "orphan" }))
		b.overdue(s.ID)
		if got := b.settled(s.ID); got.LastError != "the account that owns it is gone" || got.LastRunID != "" {
			t.Errorf("%q, %q", got.LastRunID, got.LastError)
		}
		b.fixture.set(func() { b.fixture.gone = nil; b.fixture.fails = catalog.TemplateNotFound.New("no template") })
		s = b.create(nightly(func(s *scheduling.Schedule) { s.Name = "refused" }))
		b.overdue(s.ID)
		if got := b.settled(s.ID); got.LastError != "no template" {
			t.Errorf("%q", got.LastError)
		}
	})
}

// TestOverlapQueue fires each kind of target with the lock of the schedule, beside the target's own.
func TestOverlapQueue(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.Background.Start()
		defer func() {
			if err := b.Background.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		locks := func(m made) []string {
			switch {
			case m.Run != nil:
				return m.Run.Locks
			case m.Pipeline != nil:
				return m.Pipeline.Locks
			default:
				return m.Launch.Locks
			}
		}
		run, pipeline := aRun(), aPipeline()
		run.Run.Locks, pipeline.Pipeline.Locks = []string{"db"}, []string{"db"}
		for i, c := range []struct {
			target scheduling.Target
			own    []string
		}{{nightly().Target, nil}, {run, []string{"db"}}, {pipeline, []string{"db"}}} {
			for _, overlap := range []scheduling.Overlap{
				scheduling.OverlapQueue, scheduling.OverlapSkip, scheduling.OverlapAllow,
			} {
				s := b.create(nightly(aims(c.target), func(s *scheduling.Schedule) {
					s.Name, s.Overlap = fmt.Sprint(overlap, i), overlap
				}))
				b.overdue(s.ID)
				b.settled(s.ID)
				want := c.own
				if overlap == scheduling.OverlapQueue {
					want = append(slices.Clone(c.own), runs.ScheduleLock(s.ID))
				}
				list := b.fixture.runs()
				same(t, s.Name, want, locks(list[len(list)-1]))
				stored, err := b.Schedules.Get(t.Context(), s.ID)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.target, stored.Target, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("%s: a firing changes its target: %s", s.Name, d)
				}
			}
		}
	})
}

func TestReadOnlyFiresNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	b := setup(t, d, func(p *module.Params) { p.Config.ReadOnly = true })
	s := b.create(nightly())
	b.overdue(s.ID)
	b.Background.Start()
	if err := b.Background.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	due, _, _, err := b.store.Due(t.Context(), 1)
	if err != nil || len(due) != 1 || len(b.fixture.runs()) != 0 {
		t.Errorf("%d are due, %v", len(due), err)
	}
}

// TestBackgroundStops: Stop waits for the end of the work until its context ends.
func TestBackgroundStops(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.Background.Start()
		b.Background.Start()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Background.Stop(ended); err != nil && ended.Err() == nil {
			t.Error(err)
		}
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := b.Background.Tidy(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.Open(t, db.SQLite, migrations.FS), nil)
	p := b.params
	p.Config.Catchup = -time.Second
	if _, err := module.New(p); fields(err) != "schedule-catchup" {
		t.Error(err)
	}
	p = b.params
	p.Recorder = nil
	if _, err := module.New(p); err == nil {
		t.Error("without a recorder")
	}
}
