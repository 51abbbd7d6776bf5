package overview

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

// need is one thing that needs somebody. Key names it for as long as it is the same thing.
type need struct {
	Key, Glyph, What, Why string
	// Path is where it can be dealt with, Button what is done there.
	Path, Button string
}

// Bounds of the list.
const (
	needsShown  = 8
	brokenShown = 20
	queuesRead  = 5
	waitsLong   = 15 * time.Minute
)

// needs lists what needs the viewer, by fixed rules and in their order, so that the list stays the same while nothing
// changes.
func (h *handlers) needs(ctx context.Context, r *shell.Request, s *slow, c *checks) ([]need, error) {
	var out []need
	held, err := h.held(ctx, r)
	if err != nil {
		return nil, err
	}
	out = append(out, held...)
	for _, x := range s.Day.Broken[:min(len(s.Day.Broken), brokenShown)] {
		out = append(out, need{"failed:" + cmp.Or(x.Lineage, x.ID), shell.StateOf(x.Status, false).Glyph, brokenText(x),
			causeText(x, s.Causes[x.ID]), "/ui/runs/" + x.ID, "Open"})
	}
	stuck, err := h.stuck(ctx, r.Now)
	if err != nil {
		return nil, err
	}
	out = append(out, stuck...)
	if n := len(s.Hosts.Flaky); n > 0 {
		first := s.Hosts.Flaky[0]
		out = append(out, need{"flaky:" + first.Host, "lost", flakyText(first), flakyWhy(first, n-1),
			"/ui/fleet/" + url.PathEscape(first.Host), "Host"})
	}
	if s.Drift.Total > 0 {
		out = append(out, need{"drift", "drift", driftText(s.Drift), driftWhy(s.Drift), "/ui/drift", "Drift"})
	}
	for _, x := range s.Missed {
		out = append(out, need{"schedule:" + x.ID, "clock", "Schedule " + x.Name + " did not fire", sentence(x.LastError),
			"/ui/schedules/" + x.ID, "Repair"})
	}
	if r.Viewer.Admin() && c != nil {
		out = append(out, installNeeds(ctx, c)...)
	}
	return out, nil
}

// held says how many runs wait for the viewer.
func (h *handlers) held(ctx context.Context, r *shell.Request) ([]need, error) {
	if !r.Viewer.Operator() || !r.May("run", "approve") {
		return nil, nil
	}
	list, err := h.Work.Runs.List(ctx, runs.Filter{Statuses: []runs.Status{runs.PendingApproval}, Oldest: true, Limit: 1})
	if err != nil || len(list.Runs) == 0 {
		return nil, err
	}
	return []need{{"held", "hold", heldText(list.Total), oldestHeld(ctx, list.Runs[0]), "/ui/approvals", "Review"}}, nil
}

// stuck lists queues whose runs nobody takes, or which wait for long.
func (h *handlers) stuck(ctx context.Context, now time.Time) ([]need, error) {
	list, _, err := h.Work.Queues.Queues(ctx, page.Window{})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(q execution.Queue) bool { return q.Pending == 0 })
	// Queues without an executor are first.
	slices.SortStableFunc(list, func(a, b execution.Queue) int {
		return cmp.Compare(min(a.Workers, 1), min(b.Workers, 1))
	})
	var out []need
	for _, q := range list[:min(len(list), queuesRead)] {
		oldest, err := h.Work.Runs.List(ctx, runs.Filter{Statuses: []runs.Status{runs.Pending}, Queue: q.Name, Oldest: true,
			Limit: 1, SkipTotal: true})
		if err != nil {
			return nil, err
		}
		if len(oldest.Runs) == 0 {
			continue
		}
		first := oldest.Runs[0]
		waits := now.Sub(cmp.Or(first.QueuedAt, first.CreatedAt))
		if q.Workers > 0 && waits < waitsLong {
			continue
		}
		out = append(out, need{"queue:" + q.Name, "queue", stuckText(q), stuckWhy(q, waits), "/ui/runs/" + first.ID,
			"See why"})
	}
	return out, nil
}

// installNeeds are for administrators: what is wrong with the install, and what ends soon.
func installNeeds(ctx context.Context, c *checks) []need {
	var out []need
	for _, f := range c.Report.Findings {
		if f.Severity == system.Error {
			out = append(out, need{"doctor:" + f.Check + ":" + f.Object.ID, "fail", findingText(f), sentence(f.Fix),
				"/ui/settings/doctor", "Doctor"})
		}
	}
	now := shell.Now(ctx)
	for _, t := range c.Tokens {
		out = append(out, need{"token:" + t.ID, "clock", "Token " + t.Name + " ends " + shell.When(ctx, t.ExpiresAt),
			"It belongs to " + t.Username + ". What uses it is refused from then on.", "/ui/settings/tokens", "Tokens"})
	}
	if l := c.License; l.State == system.LicenseValid && l.License.NotAfter.Sub(now) < endsSoon {
		out = append(out, need{"license", "clock", "The licence ends " + shell.When(ctx, l.License.NotAfter),
			"The install goes on without what the tier " + string(l.Tier) + " adds.", "/ui/settings/licence", "Licence"})
	}
	return out
}

// putOffPreference has the times until which items are put off, by their keys.
const putOffPreference = "overview_put_off"

// putOffFor is for how long an item is put off.
const putOffFor = 24 * time.Hour

// maxPutOff bounds the items that an account has put off.
const maxPutOff = 100

func (h *handlers) putOff(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err
	}
	p, err := r.ReadPreferences()
	if err != nil {
		return nil, err
	}
	list := putOffs(p, r.Now)
	if key := form.Get("key"); len(list) < maxPutOff && key != "" && len(key) <= maxKey {
		list[key] = r.Now.Add(putOffFor).UTC().Truncate(time.Second)
	}
	if form.Get("all") != "" {
		clear(list)
	}
	if err := r.SavePreference(putOffPreference, list); err != nil {
		return nil, err
	}
	return nil, shell.Redirect("/ui/")
}

// maxKey bounds the key of an item.
const maxKey = 300

// putOffs returns the items that are put off still.
func putOffs(p shell.Preferences, now time.Time) map[string]time.Time {
	list := map[string]time.Time{}
	p.Read(putOffPreference, &list)
	if list == nil {
		list = map[string]time.Time{}
	}
	for key, until := range list {
		if !until.After(now) {
			delete(list, key)
		}
	}
	return list
}
