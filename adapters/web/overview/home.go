package overview

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the runs that are executed now.
const (
	liveShown  = 8
	recentRuns = 5
)

// homeView is what the page shows.
type homeView struct {
	Needs []need
	// More are those that are not shown, PutOff those that the viewer put off.
	More, PutOff int
	Slow         slow
	Live         []liveRun
	LiveTotal    int
	Trail        int64
	// Checks are nil until they are made.
	Checks *checks
	// New means that there is no run at all.
	New bool
}

// liveRun is a run that executes.
type liveRun struct {
	Run *runs.Run
	// Left is the time to its likely end, and Share how far it is, in percent. Known is false without a history.
	Left  time.Duration
	Share int
	Known bool
}

func (h *handlers) home(r *shell.Request) (*shell.Page, error) {
	v, err := h.view(r)
	if err != nil {
		return nil, err
	}
	page := &shell.Page{Title: "Overview", Nav: shell.Overview, Body: homePage(v)}
	page.Parts = map[string]templ.Component{"ov": homeParts(v)}
	return page, nil
}

func (h *handlers) view(r *shell.Request) (*homeView, error) {
	ctx := r.Context()
	v := &homeView{}
	var err error
	if v.Slow, err = h.slowOf(ctx, r.Viewer.ID, r.Now); err != nil {
		return nil, err
	}
	if c, ok := h.checks.get(r.Viewer.ID, r.Now); ok {
		v.Checks = &c
	}
	all, err := h.needs(ctx, r, &v.Slow, v.Checks)
	if err != nil {
		return nil, err
	}
	p, err := r.ReadPreferences()
	if err != nil {
		return nil, err
	}
	v.pick(all, putOffs(p, r.Now), r.URL.Query().Get("all") != "")
	if err := h.running(ctx, r.Now, v); err != nil {
		return nil, err
	}
	if v.LiveTotal == 0 && v.Slow.Day.Total.sum() == 0 {
		list, err := h.Work.Runs.List(ctx, runs.Filter{Limit: 1, SkipTotal: true})
		if err != nil {
			return nil, err
		}
		v.New = len(list.Runs) == 0
	}
	v.Trail, err = h.Checks.Trail.Size(ctx)
	return v, err
}

// pick leaves out what is put off, and what is beyond the first items.
func (v *homeView) pick(list []need, off map[string]time.Time, all bool) {
	open := slices.DeleteFunc(list, func(n need) bool {
		_, later := off[n.Key]
		if later {
			v.PutOff++
		}
		return later
	})
	shown := len(open)
	if !all {
		shown = min(shown, needsShown)
	}
	v.Needs, v.More = open[:shown], len(open)-shown
}

// running reads the runs that execute, and how long those of the same template took.
func (h *handlers) running(ctx context.Context, now time.Time, v *homeView) error {
	list, err := h.Work.Runs.List(ctx, runs.Filter{Statuses: []runs.Status{runs.Running}, Limit: liveShown})
	if err != nil {
		return err
	}
	v.LiveTotal = list.Total
	known := map[string]time.Duration{}
	for _, r := range list.Runs {
		x := liveRun{Run: r}
		if of := r.Spec.TemplateID; of != "" {
			took, ok := known[of]
			if !ok {
				if took, err = h.usual(ctx, of); err != nil {
					return err
				}
				known[of] = took
			}
			x.expect(took, now)
		}
		v.Live = append(v.Live, x)
	}
	return nil
}

// usual is the median of how long the last successful runs of a template took, 0 without any.
func (h *handlers) usual(ctx context.Context, template string) (time.Duration, error) {
	list, err := h.Work.Runs.List(ctx, runs.Filter{Templates: []string{template}, Statuses: []runs.Status{runs.Succeeded},
		Limit: recentRuns, SkipTotal: true})
	if err != nil {
		return 0, err
	}
	var took []time.Duration
	for _, r := range list.Runs {
		took = append(took, r.EndedAt.Sub(r.StartedAt))
	}
	return median(took), nil
}

// expect estimates the end of a run. A run that takes longer than usual has no estimate.
func (x *liveRun) expect(usual time.Duration, now time.Time) {
	so := x.Run.Duration(now)
	if usual <= 0 || so >= usual {
		return
	}
	x.Known, x.Left, x.Share = true, usual-so, int(so*100/usual)
}
