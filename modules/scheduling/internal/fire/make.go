package fire

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Launch creates runs of the targets of schedules.
type Launch struct {
	owners    scheduling.Owners
	launcher  catalog.Launcher
	submitter runs.Submitter
}

var _ Maker = (*Launch)(nil)

// NewLaunch creates a Launch.
func NewLaunch(o scheduling.Owners, l catalog.Launcher, s runs.Submitter) *Launch {
	return &Launch{owners: o, launcher: l, submitter: s}
}

// The schedule acts with the rights of its owner and under its own name, which also scopes its idempotency keys on
// every server.
func (l *Launch) Make(ctx context.Context, f *scheduling.Firing) (string, error) {
	ctx, err := l.as(ctx, &f.Schedule)
	if err != nil {
		return "", err
	}
	run, err := l.submit(ctx, f)
	if err != nil {
		return "", err
	}
	return run.ID, nil
}

// as returns the context in which a schedule acts. A schedule without an owner acts as the application.
func (l *Launch) as(ctx context.Context, s *scheduling.Schedule) (context.Context, error) {
	if s.Owner != "" {
		owned, err := l.owners.As(ctx, s.Owner)
		if fault.Is(err, fault.NotFound) {
			return nil, scheduling.NotAllowed.New("the account that owns it is gone").Because(err)
		}
		if err != nil {
			return nil, fmt.Errorf("act for the owner of a schedule: %w", err)
		}
		ctx = owned
	}
	return actor.With(ctx, actor.Actor{Type: actor.System, ID: s.ID, Name: s.Name}), nil
}

func (l *Launch) submit(ctx context.Context, f *scheduling.Firing) (run *runs.Run, err error) {
	key := &runs.Idempotency{Key: f.Key(), Scope: "schedule", Digest: sha256.Sum256([]byte(f.Key()))}
	from := runs.Origin{Source: runs.FromSchedule, SourceID: f.Schedule.ID}
	var locks []string
	if f.Schedule.Overlap == scheduling.OverlapQueue {
		locks = []string{runs.ScheduleLock(f.Schedule.ID)}
	}
	switch t := f.Schedule.Target; {
	case t.TemplateID != "":
		run, _, err = l.launcher.Launch(ctx, t.TemplateID, catalog.Launch{
			Answers: t.Answers, Source: runs.FromSchedule, By: f.Schedule.ID, Idempotency: key,
			RequireApproval: t.RequireApproval, DryRunOnly: t.DryRun, Locks: locks,
		})
	case t.Run != nil:
		q := *t.Run
		q.Origin, q.Idempotency = from, key
		q.RequireApproval, q.Locks = q.RequireApproval || t.RequireApproval, slices.Concat(q.Locks, locks)
		q.DryRun = q.DryRun || t.DryRun
		run, _, err = l.submitter.Submit(ctx, q)
	case t.Pipeline != nil:
		q := *t.Pipeline
		q.Origin, q.Idempotency = from, key
		q.RequireApproval, q.Locks = q.RequireApproval || t.RequireApproval, slices.Concat(q.Locks, locks)
		q.DryRun = q.DryRun || t.DryRun
		run, _, err = l.submitter.SubmitPipeline(ctx, q)
	default:
		return nil, errors.New("the schedule has no target")
	}
	return run, err
}
