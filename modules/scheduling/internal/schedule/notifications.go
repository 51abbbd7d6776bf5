package schedule

import (
	"context"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// notifications returns the notifications of a target and their field; list is nil for a template.
func notifications(t *scheduling.Target) (list *[]runs.Notification, member string) {
	switch {
	case t.Run != nil:
		run := *t.Run
		t.Run = &run
		return &run.Notifications, "run"
	case t.Pipeline != nil:
		p := *t.Pipeline
		t.Pipeline = &p
		return &p.Notifications, "pipeline"
	default:
		return nil, ""
	}
}

// sealTargets seals the notifications of a target: their secrets become masks. A notification that repeats the masks
// of the stored target keeps its secrets.
func (s *Schedules) sealTargets(ctx context.Context, t, stored scheduling.Target) (notify.SealedTargets, error) {
	input, member := notifications(&t)
	if input == nil {
		return notify.SealedTargets{}, nil
	}
	var was []runs.Notification
	if list, _ := notifications(&stored); list != nil {
		was = *list
	}
	list, err := s.targets.Echoed(ctx, *input, was)
	if err != nil {
		return notify.SealedTargets{}, fault.Below(member, err)
	}
	sealed, err := s.targets.Seal(ctx, list)
	return sealed, fault.Below(member, err)
}

// storeTargets stores the notifications in the open unit and returns the target with masks.
func (s *Schedules) storeTargets(
	ctx context.Context, t scheduling.Target, sealedTargets notify.SealedTargets,
) (scheduling.Target, error) {
	list, _ := notifications(&t)
	if list == nil {
		return t, nil
	}
	var err error
	*list, err = s.targets.Save(ctx, sealedTargets)
	return t, err
}

// asStored returns a target in the form that is checked.
func asStored(t scheduling.Target) scheduling.Target {
	if list, _ := notifications(&t); list != nil {
		*list = notify.AsStored(*list)
	}
	return t
}
