package notifytest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/notify"
)

func takeCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"nothing is there":            takeNothing,
		"the longest due come first":  takeOldest,
		"a booking":                   takeBooked,
		"a booking that ran out":      takeAgain,
		"one of a lane":               takeLane,
		"lanes that are full":         takeFull,
		"how long to wait":            takeWait,
		"what has ended":              takeEnded,
		"a unit that fails":           takeRolledBack,
		"lanes are those of a target": lanesOfTargets,
	}
}

func takeNothing(t *testing.T, e *env) {
	if list, wait := e.take(t, 9, visibility); len(list) != 0 || wait != 0 {
		t.Errorf("%v, %s", list, wait)
	}
}

func takeOldest(t *testing.T, e *env) {
	var want []string
	for i := range 5 {
		d := e.add(t)
		e.postpone(t, d.ID, "", gone-time.Duration(10-i)*time.Minute)
		want = append(want, d.ID)
	}
	for i := range want {
		list, wait := e.take(t, 1, visibility)
		same(t, "one at a time", want[i:i+1], ids(list))
		if due := i < len(want)-1; due != (wait <= time.Millisecond) || wait <= 0 {
			t.Errorf("%d: the next in %s", i, wait)
		}
	}
}

func takeBooked(t *testing.T, e *env) {
	d := e.add(t)
	list, wait := e.take(t, 9, visibility)
	same(t, "taken", []string{d.ID}, ids(list))
	if wait <= visibility-5*time.Minute || wait > visibility+5*time.Minute {
		t.Errorf("it is due again in %s", wait)
	}
	e.takes(t, "booked", 9, visibility, nil)
	if got := e.get(t, d.RunID); got.Attempts != 1 || got.Status != notify.Pending {
		t.Errorf("%+v", got)
	}
}

func takeAgain(t *testing.T, e *env) {
	d := e.add(t)
	for n := 1; n <= 4; n++ {
		list, _ := e.take(t, 9, gone)
		if len(list) != 1 || list[0].ID != d.ID || list[0].Attempts != n {
			t.Fatalf("try %d: %+v", n, list)
		}
	}
}

func takeLane(t *testing.T, e *env) {
	busy, other := toward("busy"), toward("other")
	a, b, c, d := e.add(t, busy), e.add(t, busy), e.add(t, busy), e.add(t, other)
	for i, x := range []notify.Delivery{a, b, c, d} {
		e.postpone(t, x.ID, "", gone-time.Duration(10-i)*time.Minute)
	}
	list, wait := e.take(t, 9, visibility)
	same(t, "the first of each", []string{a.ID, d.ID}, ids(list))
	if wait <= 0 || wait > time.Millisecond {
		t.Errorf("the next in %s", wait)
	}
	e.takes(t, "the second", 9, visibility, []string{b.ID})
	e.takes(t, "the third", 9, visibility, []string{c.ID})
	e.takes(t, "no fourth", 9, visibility, nil)
}

func takeFull(t *testing.T, e *env) {
	a, b := e.add(t, toward("a")), e.add(t, toward("b"))
	plain := e.add(t)
	e.takes(t, "one is full", 9, gone, []string{b.ID, plain.ID}, "a")
	e.takes(t, "two are", 9, gone, []string{plain.ID}, "a", "b", "nobody's")
	list, wait := e.take(t, 9, visibility, "a", "b", plain.Lane())
	if len(list) != 0 || wait != 0 {
		t.Errorf("all are: %v, %s", list, wait)
	}
	e.takes(t, "none is", 9, visibility, []string{a.ID, b.ID, plain.ID})
}

func takeWait(t *testing.T, e *env) {
	late, soon := e.add(t, toward("late")), e.add(t, toward("soon"))
	e.postpone(t, late.ID, "", 30*time.Minute)
	e.postpone(t, soon.ID, "", 10*time.Minute)
	for _, c := range []struct {
		full []string
		want time.Duration
	}{{nil, 10 * time.Minute}, {[]string{"soon"}, 30 * time.Minute}, {[]string{"late"}, 10 * time.Minute},
		{[]string{"late", "soon"}, 0}} {
		list, wait := e.take(t, 9, visibility, c.full...)
		if len(list) != 0 || wait > c.want || wait < c.want-5*time.Minute || (wait == 0) != (c.want == 0) {
			t.Errorf("with %v: %v, %s, want %s", c.full, list, wait, c.want)
		}
	}
}

func takeEnded(t *testing.T, e *env) {
	for _, s := range []notify.Status{notify.Delivered, notify.Failed, notify.Skipped} {
		e.add(t, func(d *notify.Delivery) { d.Status = s })
	}
	if list, wait := e.take(t, 9, visibility); len(list) != 0 || wait != 0 {
		t.Errorf("%v, %s", list, wait)
	}
}

func takeRolledBack(t *testing.T, e *env) {
	d := e.add(t)
	err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
		list, _, err := e.Deliveries.TakeDeliveries(ctx, 9, visibility, nil)
		if err == nil && len(list) == 1 {
			err = errStop
		}
		return err
	})
	if err == nil {
		t.Fatal("nothing was taken")
	}
	list, _ := e.take(t, 9, visibility)
	if len(list) != 1 || list[0].ID != d.ID || list[0].Attempts != 1 {
		t.Errorf("%+v", list)
	}
}

func lanesOfTargets(t *testing.T, e *env) {
	named := func(kind, to string) func(*notify.Delivery) {
		return func(d *notify.Delivery) {
			d.Kind, d.Target.Kind, d.Target.Ref, d.Target.URL, d.Target.To = kind, kind, "", "", to
		}
	}
	extension := func(name string) func(*notify.Delivery) {
		return func(d *notify.Delivery) {
			named(name, "")(d)
			d.Origin, d.Target.Kind = notify.OfExtension, ""
		}
	}
	ref := func(d *notify.Delivery) { d.Target.Ref = "ntg_same" }
	for _, fn := range []func(*notify.Delivery){
		named("email", "a@example.org"), named("email", "b@example.org"), named("twilio", "a@example.org"), extension("x"),
		extension("y"), ref, toward("d"),
	} {
		e.add(t, fn)
		e.add(t, fn)
	}
	list, _ := e.take(t, 99, visibility)
	same(t, "one of each target", 7, len(list))
	list, _ = e.take(t, 99, visibility)
	same(t, "and the other", 7, len(list))
}
