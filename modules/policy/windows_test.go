package policy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

// daily is a window from an hour on every day.
func daily(name string, mode policy.WindowMode, hour int, lasts time.Duration) policy.Window {
	return policy.Window{Record: object.Record{Name: name}, Mode: mode, Enabled: true,
		Cron: fmt.Sprintf("0 %d * * *", hour), Duration: int64(lasts / time.Second), Outside: policy.OutsideWait}
}

func (b *bundle) window(w policy.Window) policy.Window {
	b.t.Helper()
	made, err := b.Windows.Create(b.t.Context(), w)
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

// TestInvalidWindows states a field for everything that a window cannot have.
func TestInvalidWindows(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	once := func(w *policy.Window, from, to string) { w.Cron, w.Duration, w.From, w.To = "", 0, from, to }
	for name, tc := range map[string]struct {
		field  string
		change func(w *policy.Window)
	}{
		"no name":        {"name", func(w *policy.Window) { w.Name = " " }},
		"no mode":        {"mode", func(w *policy.Window) { w.Mode = "" }},
		"another mode":   {"mode", func(w *policy.Window) { w.Mode = "hold" }},
		"no outside":     {"outside", func(w *policy.Window) { w.Outside = "" }},
		"a match":        {"match.tools[0]", func(w *policy.Window) { w.Match.Tools = []string{""} }},
		"no times":       {"cron", func(w *policy.Window) { once(w, "", "") }},
		"cron with from": {"from", func(w *policy.Window) { w.From = "2026-01-01T00:00:00Z" }},
		"cron with to":   {"to", func(w *policy.Window) { w.To = "2026-01-01T00:00:00Z" }},
		"no duration":    {"duration", func(w *policy.Window) { w.Duration = 0 }},
		"too short":      {"duration", func(w *policy.Window) { w.Duration = 59 }},
		"too long":       {"duration", func(w *policy.Window) { w.Duration = 366*86400 + 1 }},
		"another cron":   {"cron", func(w *policy.Window) { w.Cron = "never" }},
		"another zone":   {"timezone", func(w *policy.Window) { w.Timezone = "Mars" }},
		"dates with time": {"duration", func(w *policy.Window) {
			once(w, "2026-01-01T00:00", "2026-01-02T00:00")
			w.Duration = 60
		}},
		"no from":   {"from", func(w *policy.Window) { once(w, "", "2026-01-02T00:00") }},
		"no to":     {"to", func(w *policy.Window) { once(w, "2026-01-02T00:00", "") }},
		"no date":   {"to", func(w *policy.Window) { once(w, "2026-01-02T00:00", "2026-02-30T00:00") }},
		"backwards": {"to", func(w *policy.Window) { once(w, "2026-01-02T00:00", "2026-01-02T00:00:00Z") }},
	} {
		w := daily("a", policy.DenyWindow, 1, time.Hour)
		tc.change(&w)
		_, err := b.Windows.Create(t.Context(), w)
		b.wantFault(name, err, fault.Code{Kind: fault.Invalid}, tc.field)
		_, err = b.Windows.Update(t.Context(), "win_"+ulid, 0, w)
		b.wantFault(name+" in an update", err, fault.Code{Kind: fault.Invalid}, tc.field)
	}
	if list := b.trail.Take(); len(list) > 0 {
		t.Errorf("recorded: %+v", list)
	}
}

// TestWindows creates, changes and deletes a window without a licence. Each change is recorded with it, and wakes who
// looks at the runs that wait.
func TestWindows(t *testing.T) {
	eachEngine(t, func(b *bundle) {
		t, ctx := b.t, b.t.Context()
		b.tier.tier.Store(system.Free)
		woken, stop := b.d.Signals().Watch(events.TopicWindow)
		defer stop()
		w := daily(" night ", policy.AllowWindow, 22, 8*time.Hour)
		w.Org, w.Match.InventoryIDs, w.Timezone, w.Outside = "org_1", []string{"inv_" + ulid}, "UTC", policy.OutsideDeny
		made := b.window(w)
		<-woken
		want := w
		want.Record = made.Record
		if d := cmp.Diff(want, made); d != "" || made.Name != "night" || made.Org != "" || made.Revision != 1 {
			t.Errorf("%+v %s", made.Record, d)
		}
		for _, ctx := range []context.Context{ctx, asViewer(ctx)} {
			want := made
			if ctx.Value(viewerKey{}) != nil {
				want.Match.InventoryIDs = []string{} // of an object that the caller may not read
			}
			got, err := b.Windows.Get(ctx, made.ID)
			list, n, fails := b.Windows.List(ctx, policy.Filter{Name: "night"}, page.Window{})
			if d := cmp.Diff([]policy.Window{want, want}, append(list, got)); d != "" || n != 1 || err != nil || fails != nil {
				t.Error(n, err, fails, d)
			}
		}
		_, err := b.Windows.Create(ctx, w)
		b.wantFault("the same name", err, policy.NameTaken, "name")
		next := policy.Window{Record: object.Record{Name: "night"}, Mode: policy.DenyWindow, From: "2026-12-24T00:00",
			To: "2026-12-27T00:00:00+01:00", Outside: policy.OutsideWait}
		_, err = b.Windows.Update(ctx, made.ID, 7, next)
		b.wantFault("another revision", err, policy.RevisionChanged, "")
		_, err = b.Windows.Update(ctx, "win_"+ulid, 0, next)
		b.wantFault("nothing", err, policy.WindowNotFound, "")
		changed, err := b.Windows.Update(ctx, made.ID, 1, next)
		if err != nil || changed.Revision != 2 || changed.From != next.From || changed.Cron != "" || changed.Enabled {
			t.Errorf("%+v %v", changed, err)
		}
		<-woken
		b.wantFault("an old revision", b.Windows.Delete(ctx, made.ID, 1), policy.RevisionChanged, "")
		if err := b.Windows.Delete(ctx, made.ID, 2); err != nil {
			t.Error(err)
		}
		<-woken
		_, err = b.Windows.Get(ctx, made.ID)
		b.wantFault("deleted", err, policy.WindowNotFound, "")
		var entries []string
		for _, e := range b.trail.Take() {
			entries = append(entries, fmt.Sprint(e.Action, " ", e.Object.Kind, " ", e.Object.Name, " ", e.Detail["mode"], " ",
				e.Detail["outside"], " ", e.Detail["enabled"], " ", e.Detail["revision"], " ", e.Detail["digest"] != nil))
		}
		if d := cmp.Diff([]string{"window.create window night allow deny true 1 true",
			"window.update window night deny wait false 2 true", "window.delete window night <nil> <nil> <nil> 2 false"},
			entries); d != "" {
			t.Error(d)
		}
	})
}

// TestWritersOfWindows refuses whoever is no administrator, a change that cannot be recorded, and one window too many.
func TestWritersOfWindows(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	w := daily("a", policy.DenyWindow, 1, time.Hour)
	made, ctx := b.window(w), asViewer(t.Context())
	_, err := b.Windows.Create(ctx, policy.Window{})
	b.wantFault("create", err, policy.NotAllowed, "")
	_, err = b.Windows.Update(ctx, made.ID, 0, w)
	b.wantFault("update", err, policy.NotAllowed, "")
	b.wantFault("delete", b.Windows.Delete(ctx, made.ID, 0), policy.NotAllowed, "")
	broken := errors.New("broken")
	for _, fail := range [][2]error{{broken, nil}, {nil, broken}} {
		b.trail.Fail(fail[0], fail[1])
		if _, err := b.Windows.Create(t.Context(), daily("b", policy.DenyWindow, 1, time.Hour)); !errors.Is(err, broken) {
			t.Error(err)
		}
		if err := b.Windows.Delete(t.Context(), made.ID, 0); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	b.trail.Fail(nil, nil)
	b.do(func(ctx context.Context) error {
		for i := range policy.MaxWindows - 1 {
			w := daily(fmt.Sprint("x", i), policy.DenyWindow, 1, time.Hour)
			w.ID, w.CreatedAt, w.UpdatedAt = fmt.Sprint("win_", i), noon{}.Now(), noon{}.Now()
			if err := b.params.Windows.Insert(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
	_, err = b.Windows.Create(t.Context(), daily("last", policy.DenyWindow, 1, time.Hour))
	b.wantFault("one too many", err, policy.TooManyWindows, "")
}

// TestTimingOfRequests names the window that is closed, and says when it opens. It is noon.
func TestTimingOfRequests(t *testing.T) {
	eachEngine(t, func(b *bundle) {
		t := b.t
		at := func(days, hour int) time.Time { return time.Date(2026, 5, 1+days, hour, 0, 0, 0, time.UTC) }
		run := &runs.Run{Actor: actor.Actor{ID: "usr_1"}, Labels: map[string]string{"env": "prod"},
			Spec: runs.Spec{Tool: "bash"}}
		want := func(what string, w policy.Timing, name string, outside policy.Outside) {
			t.Helper()
			if name != "" {
				w.Closed = &policy.WindowRule{Name: name, Outside: outside}
			}
			var v policy.Verdict
			b.do(func(ctx context.Context) (err error) {
				v, err = b.Evaluator.Evaluate(ctx, run, nil)
				return err
			})
			again, err := b.Evaluator.Timing(t.Context(), run, nil)
			version, fails := b.Evaluator.Windows(t.Context())
			w.Version = version
			for _, got := range []policy.Timing{v.Timing, again} {
				if got.Closed != nil {
					rule := *got.Closed
					rule.ID = ""
					got.Closed = &rule
				}
				if d := cmp.Diff(w, got); d != "" || err != nil || fails != nil {
					t.Errorf("%s: %v %v %s", what, err, fails, d)
				}
			}
		}
		want("no windows", policy.Timing{}, "", "")
		prod := daily("prod", policy.DenyWindow, 11, 2*time.Hour)
		prod.Match.Labels = map[string]string{"env": "prod"}
		prod = b.window(prod)
		want("inside of a deny window", policy.Timing{Opens: at(0, 13), Again: at(0, 13)}, "prod", policy.OutsideWait)
		other := daily("other", policy.DenyWindow, 11, 10*time.Hour)
		other.Match.Labels = map[string]string{"env": "test"}
		b.window(other)
		want("another run's window", policy.Timing{Opens: at(0, 13), Again: at(0, 13)}, "prod", policy.OutsideWait)
		night := daily("night", policy.AllowWindow, 22, 8*time.Hour)
		night = b.window(night)
		want("outside of an allow window too", policy.Timing{Opens: at(0, 22), Again: at(0, 22)}, "night", policy.OutsideWait)
		prod.Outside = policy.OutsideDeny
		prod, _ = b.Windows.Update(t.Context(), prod.ID, 0, prod)
		want("deny wins", policy.Timing{Opens: at(0, 22), Again: at(0, 22)}, "prod", policy.OutsideDeny)
		day := b.window(daily("day", policy.AllowWindow, 10, 4*time.Hour))
		want("one allow window is open", policy.Timing{Opens: at(0, 13), Again: at(0, 13)}, "prod", policy.OutsideDeny)
		prod.Enabled = false
		if _, err := b.Windows.Update(t.Context(), prod.ID, 0, prod); err != nil {
			t.Error(err)
		}
		want("open", policy.Timing{Again: at(0, 14)}, "", "")
		for _, id := range []string{day.ID, night.ID} {
			if err := b.Windows.Delete(t.Context(), id, 0); err != nil {
				t.Error(err)
			}
		}
		want("none applies", policy.Timing{}, "", "")
		past := policy.Window{Record: object.Record{Name: "past"}, Mode: policy.AllowWindow, Enabled: true,
			From: "2026-04-01T00:00", To: "2026-04-02T00:00", Outside: policy.OutsideWait}
		b.window(past)
		want("never", policy.Timing{}, "past", policy.OutsideWait)
	})
}

// TestWindowsOfPipelines are bound by what matches one of their steps.
func TestWindowsOfPipelines(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	w := daily("scripts", policy.DenyWindow, 11, 2*time.Hour)
	w.Match.Tools = []string{"python"}
	b.window(w)
	r := &runs.Run{Graph: &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{Tool: "bash"}},
		{StepSpec: runs.StepSpec{Tool: "python"}}}}}
	got, err := b.Evaluator.Timing(t.Context(), r, nil)
	if err != nil || got.Closed == nil || got.Closed.Name != "scripts" {
		t.Errorf("%+v %v", got, err)
	}
	r.Graph.Steps = r.Graph.Steps[:1]
	if got, err := b.Evaluator.Timing(t.Context(), r, nil); err != nil || got.Closed != nil {
		t.Errorf("%+v %v", got, err)
	}
}
