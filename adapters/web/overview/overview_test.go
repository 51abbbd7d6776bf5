package overview

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

const hostile = `<script>alert(1)</script>"><img src=x onerror=alert(1)>` + "\u202e"

func now() time.Time { return time.Date(2026, 11, 26, 15, 0, 0, 0, time.UTC) }

func viewing() context.Context {
	return shell.WithViewer(context.Background(), shell.Viewer{ID: "usr_1", Name: "ada", Role: "admin"}, now())
}

func ended(status runs.Status, lineage string, before time.Duration) *runs.Run {
	at := now().Add(-before)
	return &runs.Run{ID: "run_" + lineage, Name: hostile, Status: status, Lineage: lineage, EndedAt: at,
		StartedAt: at.Add(-time.Minute), QueuedAt: at.Add(-2 * time.Minute), Actor: actor.Actor{Name: hostile}}
}

// lister returns pages of a list of runs.
type lister struct {
	runs.Reader
	list []*runs.Run
	size int
}

func (l lister) List(_ context.Context, f runs.Filter) (*runs.List, error) {
	from := len(f.Cursor) * l.size
	to := min(from+l.size, len(l.list))
	return &runs.List{Runs: l.list[from:to], Total: len(l.list), HasMore: to < len(l.list),
		NextCursor: f.Cursor + "x"}, nil
}

func TestDay(t *testing.T) {
	t.Parallel()
	list := []*runs.Run{
		ended(runs.Succeeded, "a", time.Minute), ended(runs.Failed, "b", 20*time.Minute), ended(runs.Failed, "a", time.Hour),
		ended(runs.Canceled, "c", 2*time.Hour), ended(runs.Interrupted, "c", 3*time.Hour),
		{ID: "run_live", Status: runs.Running, Lineage: "b"},
	}
	h := &handlers{Params: Params{Work: Work{Runs: lister{list: list, size: 2}}}}
	d, err := h.dayOf(context.Background(), now())
	if err != nil {
		t.Fatal(err)
	}
	if want := (slot{Done: 1, Fail: 2, Lost: 1, Other: 1}); d.Total != want || d.Capped {
		t.Errorf("total %+v, capped %t, want %+v", d.Total, d.Capped, want)
	}
	if d.Slots[quarters-1].Done != 1 || d.Slots[quarters-2].Fail != 1 || d.Took != time.Minute || d.Waited != time.Minute {
		t.Errorf("slots %+v, took %v, waited %v", d.Slots[quarters-5:], d.Took, d.Waited)
	}
	// The failure of a is over, and c was canceled and not repaired.
	if ids := idsOf(d.Broken); !slices.Equal(ids, []string{"run_b", "run_c"}) {
		t.Errorf("broken are %v", ids)
	}
	many := make([]*runs.Run, dayLimit+1)
	for i := range many {
		many[i] = ended(runs.Succeeded, "a", time.Minute)
	}
	h.Work.Runs = lister{list: many, size: dayPage}
	if d, err := h.dayOf(context.Background(), now()); err != nil || !d.Capped || d.Total.sum() != dayLimit {
		t.Errorf("of %d runs: capped %t, %d counted, %v", len(many), d.Capped, d.Total.sum(), err)
	}
}

func idsOf(list []*runs.Run) (out []string) {
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

func TestChart(t *testing.T) {
	t.Parallel()
	d := &day{}
	if len(d.bars()) != 0 || d.top() != 4 {
		t.Errorf("an empty day has %v up to %d", d.bars(), d.top())
	}
	d.Slots[3] = slot{Done: 30, Fail: 1}
	if bars := d.bars(); len(bars) != 2 || bars[0].Hue != "done" || bars[1].H != "3.0" || d.top() != 40 {
		t.Errorf("bars %v up to %d", bars, d.top())
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	var list []need
	for _, key := range strings.Split("abcdefghijk", "") {
		list = append(list, need{Key: key})
	}
	v := &homeView{}
	v.pick(slices.Clone(list), map[string]time.Time{"b": now()}, false)
	if len(v.Needs) != needsShown || v.More != 2 || v.PutOff != 1 || v.Needs[1].Key != "c" {
		t.Errorf("shown %v, %d more, %d put off", v.Needs, v.More, v.PutOff)
	}
	v = &homeView{}
	v.pick(slices.Clone(list), nil, true)
	if len(v.Needs) != len(list) || v.More != 0 {
		t.Errorf("of all %d are shown", len(v.Needs))
	}
	p := shell.Preferences{putOffPreference: []byte(`{"a":"2026-11-26T15:00:01Z","b":"2026-11-26T15:00:00Z"}`)}
	if off := putOffs(p, now()); len(off) != 1 || off["a"].IsZero() {
		t.Errorf("put off are %v", off)
	}
	if off := putOffs(shell.Preferences{putOffPreference: []byte(`null`)}, now()); off == nil {
		t.Error("nothing can be put off")
	}
}

func TestExpect(t *testing.T) {
	t.Parallel()
	x := liveRun{Run: &runs.Run{StartedAt: now().Add(-time.Minute)}}
	x.expect(4*time.Minute, now())
	if !x.Known || x.Left != 3*time.Minute || x.Share != 25 || leftText(x) != "about 3 min left" {
		t.Errorf("%+v, %q", x, leftText(x))
	}
	for _, usual := range []time.Duration{0, 30 * time.Second} {
		x := liveRun{Run: x.Run}
		if x.expect(usual, now()); x.Known || leftText(x) != "" {
			t.Errorf("with a usual time of %v there is an estimate", usual)
		}
	}
}

func TestTrailState(t *testing.T) {
	t.Parallel()
	good := &checks{Verified: true, Trail: audit.ChainVerdict{Verdict: proof.Verdict{OK: true, Count: 48377}}}
	broken := &checks{Verified: true, Trail: audit.ChainVerdict{Verdict: proof.Verdict{Reason: "chain_break"}}}
	for text, c := range map[string]*checks{
		"48,400 entries": nil, "Intact to entry 48,377": good, "Broken: chain_break": broken,
	} {
		if _, got := trailState(48400, c); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	c := newCache[int](time.Second)
	c.put("a", now(), 1)
	if v, ok := c.get("a", now().Add(999*time.Millisecond)); !ok || v != 1 {
		t.Error("the value is gone early")
	}
	if _, ok := c.get("a", now().Add(time.Second)); ok {
		t.Error("the value is kept too long")
	}
	if _, ok := c.get("b", now()); ok {
		t.Error("another account sees the value")
	}
	for i := range 2 * maxCached {
		c.put(strings.Repeat("x", i), now(), i)
	}
	if len(c.of) > maxCached {
		t.Errorf("%d accounts are kept", len(c.of))
	}
}

func TestHostilePage(t *testing.T) {
	t.Parallel()
	broken := ended(runs.Failed, "b", time.Minute)
	broken.Hosts = runs.HostCounts{runs.HostFailed: 2, runs.HostOK: 1}
	schedule := scheduling.Schedule{Record: scheduling.Record{Record: object.Record{ID: "sch_1", Name: hostile}},
		NextRunAt: now().Add(time.Hour), LastError: hostile}
	v := &homeView{
		Slow: slow{Day: &day{}, Next: []scheduling.Schedule{schedule}, Hosts: hosts{Total: 5, Failed: 1}},
		Live: []liveRun{{Run: broken, Known: true, Share: 20}}, LiveTotal: 3, More: 2, PutOff: 1,
		Needs: []need{{Key: hostile, Glyph: "fail", What: brokenText(broken),
			Why: causeText(broken, []runs.FailureGroup{{Message: hostile, Count: 2}}), Path: "/ui/runs/x", Button: "Open"},
			{Key: "f", Glyph: "lost", What: flakyText(estate.HostRank{Host: hostile}), Path: "/ui/fleet/x"}},
	}
	for _, c := range []templ.Component{homePage(v), homeParts(v), findPage(findView{hostile, []found{{hostile, hostile,
		"/ui/x"}}})} {
		var b bytes.Buffer
		if err := c.Render(viewing(), &b); err != nil {
			t.Fatal(err)
		}
		for _, no := range []string{"<script>", "<img", " style=", " onclick"} {
			if strings.Contains(b.String(), no) {
				t.Errorf("the page has %q", no)
			}
		}
	}
}

func TestGuides(t *testing.T) {
	t.Parallel()
	list := matching(guides(), "audit", foundEach)
	if len(list) == 0 || !strings.HasPrefix(list[0].Path, "/ui/help/") || strings.HasPrefix(list[0].Text, "#") {
		t.Errorf("guides about audit: %v", list)
	}
	if begins("Nightly backup", "backup") != true || begins("Nightly backup", "ackup") {
		t.Error("words are found by their beginnings")
	}
}
