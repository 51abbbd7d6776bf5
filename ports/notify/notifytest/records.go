package notifytest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

func recordCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"every member survives":            everyMember,
		"a place is taken once":            onceEach,
		"a run that is gone takes none":    ofNoRun,
		"they go with their run":           withTheRun,
		"a list in windows":                windows,
		"many at once":                     many,
		"a unit that fails leaves nothing": rolledBack,
		"an end":                           ending,
		"another time":                     deferring,
	}
}

func everyMember(t *testing.T, e *env) {
	run := e.run(t)
	want := []notify.Delivery{
		e.delivery(run, 7, func(d *notify.Delivery) {
			d.Event, d.Origin, d.Kind, d.Digest = notify.Held, notify.OfServer, "webhook", strings.Repeat("d", 64)
			d.Target = runs.Notification{Kind: "webhook", URL: "https://a.example/***", Key: "***", To: hard, OnFailure: true,
				Ref: "ntg_1"}
		}),
		e.delivery(run, 0, func(d *notify.Delivery) {
			d.Origin, d.Kind, d.Target = notify.OfExtension, hard, runs.Notification{}
		}),
		e.delivery(run, 1, func(d *notify.Delivery) {
			d.Event, d.Cause = notify.DriftFound, "msg_1"
			d.Drift = &estate.DriftFound{RunID: "run_2", TargetID: "t", Playbook: hard, New: 1 << 40, HostCount: 21,
				Hosts: []string{hard, ""}, At: time.Date(2026, 5, 1, 12, 0, 0, 1000, time.UTC)}
		}),
		e.delivery(run, 1, func(d *notify.Delivery) { d.Status, d.Reason = notify.Skipped, hard }),
	}
	e.insert(t, 4, want...)
	got := e.list(t, run)
	if len(got) != 4 {
		t.Fatalf("%d deliveries", len(got))
	}
	for i := range got {
		recent(t, "created", &got[i].CreatedAt)
		if want[i].Status == notify.Pending {
			if !got[i].EndedAt.IsZero() {
				t.Errorf("a pending one ended at %s", got[i].EndedAt)
			}
			continue
		}
		recent(t, "ended", &got[i].EndedAt)
	}
	same(t, "what was stored", want, got)
	list, _ := e.take(t, 9, visibility)
	for i := range list {
		list[i].CreatedAt = time.Time{}
		want[i].Attempts = 1
	}
	same(t, "what is taken", want[:3], list)
}

func onceEach(t *testing.T, e *env) {
	run, other := e.run(t), e.run(t)
	first := e.delivery(run, 0)
	e.insert(t, 1, first)
	e.insert(t, 0, e.delivery(run, 0), e.delivery(run, 0, func(d *notify.Delivery) {
		d.Kind, d.Status = "email", notify.Skipped
	}))
	e.insert(t, 4, e.delivery(run, 0), e.delivery(run, 1), e.delivery(other, 0), e.delivery(run, 0, toward("d")),
		e.delivery(run, 0, func(d *notify.Delivery) { d.Event = notify.Held }))
	caused := func(id string) notify.Delivery {
		return e.delivery(other, 0, func(d *notify.Delivery) { d.Event, d.Cause = notify.DriftFound, id })
	}
	e.insert(t, 2, caused("msg_1"), caused("msg_2"), caused("msg_1"))
	e.end(t, first.ID, notify.Delivered, "")
	e.insert(t, 0, e.delivery(run, 0), caused("msg_2"))
	list := e.list(t, run)
	if len(list) != 4 || list[0].ID != first.ID || list[0].Status != notify.Delivered || list[0].Kind != "slack" {
		t.Errorf("%+v", list)
	}
	e.insert(t, 0)
}

func ofNoRun(t *testing.T, e *env) {
	run := e.run(t)
	e.insert(t, 0, e.delivery("run_none", 0))
	e.insert(t, 2, e.delivery("run_none", 0), e.delivery(run, 0), e.delivery("run_never", 0), e.delivery(run, 1))
	same(t, "of no run", 0, len(e.list(t, "run_none")))
	same(t, "of the run", 2, len(e.list(t, run)))
}

func withTheRun(t *testing.T, e *env) {
	d, taken := e.add(t), e.add(t)
	e.takes(t, "before", 9, gone, []string{d.ID, taken.ID})
	if err := e.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "what is told", 0, len(e.list(t, d.RunID)))
	if list, wait := e.take(t, 9, visibility); len(list) != 0 || wait != 0 {
		t.Errorf("%d taken, the next in %s", len(list), wait)
	}
	e.end(t, taken.ID, notify.Delivered, "")
	e.postpone(t, d.ID, "why", time.Second)
	same(t, "after an end", 0, len(e.list(t, taken.RunID)))
}

func windows(t *testing.T, e *env) {
	run := e.run(t)
	var want []string
	for i := range 5 {
		d := e.delivery(run, i)
		e.insert(t, 1, d)
		want = append(want, d.ID)
	}
	e.add(t)
	for _, c := range []struct {
		w    page.Window
		want []string
	}{
		{page.Window{}, want}, {page.Window{Limit: 2}, want[:2]}, {page.Window{Offset: 2, Limit: 2}, want[2:4]},
		{page.Window{Offset: 4}, want[4:]},
		{page.Window{Offset: 9}, []string{}},
	} {
		list, total, err := e.Deliveries.ListDeliveries(t.Context(), run, c.w)
		if err != nil || total != 5 {
			t.Errorf("%+v: %d, %v", c.w, total, err)
		}
		same(t, "a window", c.want, ids(list))
	}
	list, total, err := e.Deliveries.ListDeliveries(t.Context(), "run_none", page.Window{})
	if err != nil || total != 0 || len(list) != 0 {
		t.Errorf("%v, %d, %v", list, total, err)
	}
}

// many stores the maximum number of deliveries of a run.
func many(t *testing.T, e *env) {
	run := e.run(t)
	list := make([]notify.Delivery, 0, page.MaxRows)
	for i := range page.MaxRows {
		list = append(list, e.delivery(run, i))
	}
	e.insert(t, len(list), list...)
	e.insert(t, 0, list...)
	same(t, "the order", ids(list), ids(e.list(t, run)))
}

func rolledBack(t *testing.T, e *env) {
	d, run := e.add(t), e.run(t)
	err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
		if _, err := e.Deliveries.InsertDeliveries(ctx, []notify.Delivery{e.delivery(run, 0)}); err != nil {
			return err
		}
		if err := e.Deliveries.EndDelivery(ctx, d.ID, notify.Failed, "why"); err != nil {
			return err
		}
		if _, err := e.Targets.SaveTarget(ctx, "ntg_1", "d", []byte{1}); err != nil {
			return err
		}
		return errStop
	})
	if !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	same(t, "of the run", 0, len(e.list(t, run)))
	same(t, "the other one", notify.Pending, e.get(t, d.RunID).Status)
	_, err = e.Targets.SealedTarget(t.Context(), "ntg_1")
	refused(t, "the target", err, notify.TargetNotFound)
}

func ending(t *testing.T, e *env) {
	for _, c := range []struct {
		status notify.Status
		reason string
	}{{notify.Delivered, ""}, {notify.Failed, hard}} {
		d := e.add(t)
		e.takes(t, "before the end", 9, gone, []string{d.ID})
		e.end(t, d.ID, c.status, c.reason)
		// A later result changes nothing.
		e.end(t, d.ID, notify.Failed, "late")
		e.postpone(t, d.ID, "late", gone)
		got := e.get(t, d.RunID)
		recent(t, "ended", &got.EndedAt)
		recent(t, "created", &got.CreatedAt)
		d.Status, d.Reason, d.Attempts = c.status, c.reason, 1
		same(t, "what is told", d, got)
		e.takes(t, "after the end", 9, visibility, nil)
	}
	e.end(t, "nty_none", notify.Failed, "why")
}

func deferring(t *testing.T, e *env) {
	d := e.add(t)
	e.takes(t, "the first try", 9, visibility, []string{d.ID})
	e.postpone(t, d.ID, hard, gone)
	got := e.get(t, d.RunID)
	if got.Status != notify.Pending || got.Reason != hard || got.Attempts != 1 || !got.EndedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	list, _ := e.take(t, 9, visibility)
	if len(list) != 1 || list[0].Attempts != 2 || list[0].Reason != hard || list[0].ID != d.ID {
		t.Fatalf("the second try: %+v", list)
	}
	e.postpone(t, d.ID, "again", 10*time.Minute)
	list, wait := e.take(t, 9, visibility)
	if len(list) != 0 || wait <= 9*time.Minute || wait > 10*time.Minute {
		t.Errorf("%d taken, the next in %s", len(list), wait)
	}
	e.end(t, d.ID, notify.Delivered, "")
	if got := e.get(t, d.RunID); got.Reason != "" || got.Status != notify.Delivered || got.Attempts != 2 {
		t.Errorf("%+v", got)
	}
	e.postpone(t, "nty_none", "why", time.Second)
}
