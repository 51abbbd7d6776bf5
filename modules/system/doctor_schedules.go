package system

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/system"
)

// ScheduleCheck reports enabled schedules that do not fire, or whose target could not start.
type ScheduleCheck struct{ p ScheduleParams }

var _ system.Check = (*ScheduleCheck)(nil)

// NewScheduleCheck creates the check.
func NewScheduleCheck(p ScheduleParams) *ScheduleCheck {
	return &ScheduleCheck{p: p}
}

func (*ScheduleCheck) Name() string { return "schedules" }

// Examine reads at most 10,000 schedules and skips disabled ones.
func (c *ScheduleCheck) Examine(ctx context.Context) (system.Examination, error) {
	l := &firingExamination{owners: c.p.Owners, launcher: c.p.Launcher}
	list := func(w page.Window) ([]scheduling.Schedule, int, error) {
		return c.p.Schedules.ListSchedules(ctx, access.Everything(), scheduling.Filter{}, w)
	}
	return l.result(each(ctx, &l.survey, "schedules", list, func(s scheduling.Schedule) error {
		if !s.Enabled {
			return nil
		}
		f := system.Finding{Object: firingSubject(s.Record), Link: "/v1/schedules/" + s.ID}
		if s.LastError != "" {
			f.Severity, f.Problem = system.Warning, "its last slot made no run: "+clip(s.LastError)
			f.Fix = "repair the cause that the message names, or disable the schedule"
			l.add(f)
		}
		if s.NextRunAt.IsZero() {
			f.Severity, f.Problem = system.Notice, "the schedule is enabled and never fires again"
			f.Fix = "give it another expression, or delete it"
			l.add(f)
		}
		return l.launchable(ctx, f, s.Owner, s.Target.TemplateID, s.Target.Answers)
	}))
}

// firingExamination is one examination of schedules or triggers.
type firingExamination struct {
	survey
	owners   scheduling.Owners
	launcher catalog.Launcher
}

func firingSubject(r scheduling.Record) system.Subject {
	return system.Subject{Kind: ids.KindOf(r.ID), ID: r.ID, Name: r.Name}
}

// launchable reports a missing owner, and a launch that the owner's rights and these answers would not permit. Without
// a template it checks only the owner. An empty owner is the application itself, which has every right.
func (l *firingExamination) launchable(
	ctx context.Context, f system.Finding, owner, template string, answers map[string]any,
) error {
	f.Severity = system.Error
	as := ctx
	if owner != "" {
		var err error
		switch as, err = l.owners.As(ctx, owner); {
		case fault.Is(err, fault.NotFound):
			f.Problem = fmt.Sprintf("it fires with the rights of the account %s, which no longer exists", clip(owner))
			f.Fix = "save it with another account, or delete it"
			l.add(f)
			return nil
		case err != nil:
			return l.skip(ctx, fmt.Errorf("act as %s: %w", owner, err))
		}
	}
	if template == "" {
		return nil
	}
	err := l.launcher.Unattended(as, template, answers)
	if err == nil {
		return nil
	}
	why, ok := publicMessage(err)
	if !ok {
		return l.skip(ctx, fmt.Errorf("judge the template %s: %w", template, err))
	}
	f.Problem = "nothing can be launched when it fires: " + why
	f.Fix = "change its template, its answers or the rights of its owner so that it can be launched unattended"
	l.add(f)
	return nil
}
