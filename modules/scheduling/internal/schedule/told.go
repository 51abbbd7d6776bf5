package schedule

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/scheduling/internal/desk"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// told returns a target whose notifications are as records hold them, in the open unit: of what is secret in them it holds masks. What
// repeats masks of the stored target stays what it was.
func (s *Schedules) told(ctx context.Context, t, stored scheduling.Target) (scheduling.Target, error) {
	var err error
	if t.Run != nil {
		run := *t.Run
		if run.Notifications, err = s.kept(ctx, run.Notifications, listed(stored)); err != nil {
			return t, desk.Below("run", err)
		}
		t.Run = &run
	}
	if t.Pipeline != nil {
		p := *t.Pipeline
		if p.Notifications, err = s.kept(ctx, p.Notifications, listed(stored)); err != nil {
			return t, desk.Below("pipeline", err)
		}
		t.Pipeline = &p
	}
	return t, nil
}

func (s *Schedules) kept(ctx context.Context, said, stored []runs.Notification) ([]runs.Notification, error) {
	list, err := s.targets.Echoed(ctx, said, stored)
	if err != nil {
		return nil, err
	}
	return s.targets.Keep(ctx, list)
}

// listed are the notifications of a target, of whatever sort it is.
func listed(t scheduling.Target) []runs.Notification {
	switch {
	case t.Run != nil:
		return t.Run.Notifications
	case t.Pipeline != nil:
		return t.Pipeline.Notifications
	default:
		return nil
	}
}

// judged returns a target as it is judged: a mask stands for what is stored, which was judged before.
func judged(t scheduling.Target) scheduling.Target {
	if t.Run != nil {
		run := *t.Run
		run.Notifications = unmasked(run.Notifications)
		t.Run = &run
	}
	if t.Pipeline != nil {
		p := *t.Pipeline
		p.Notifications = unmasked(p.Notifications)
		t.Pipeline = &p
	}
	return t
}

func unmasked(said []runs.Notification) []runs.Notification {
	out := slices.Clone(said)
	for i := range out {
		if address, key := notify.IsMask(out[i]); address || key {
			out[i].Ref = "stored"
		}
	}
	return out
}
