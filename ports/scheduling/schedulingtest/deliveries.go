package schedulingtest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

func deliveryCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"one is remembered":      deliveryRemembered,
		"one under way":          deliveryUnderWay,
		"a failure is forgotten": deliveryFailure,
		"one that was ignored":   deliveryIgnored,
		"an old one":             deliveryOld,
		"forgetting":             deliveryForget,
		"a body":                 deliveryBody,
		"a body that failed":     deliveryBodyFailure,
		"an old body":            deliveryBodyOld,
		"the log":                deliveryLog,
		"the log ends":           deliveryLogEnds,
	}
}

func unsigned(id string) scheduling.DeliveryKeys { return scheduling.DeliveryKeys{ID: id} }

func signed(id, body string) scheduling.DeliveryKeys {
	return scheduling.DeliveryKeys{ID: id, Body: body}
}

func (e *env) remember(t *testing.T, trigger, id string, d time.Duration, fresh bool) scheduling.Delivered {
	t.Helper()
	return e.rememberKeys(t, trigger, unsigned(id), d, fresh)
}

func (e *env) rememberKeys(
	t *testing.T, trigger string, k scheduling.DeliveryKeys, d time.Duration, fresh bool,
) scheduling.Delivered {
	t.Helper()
	was, got, err := e.Deliveries.Remember(t.Context(), trigger, k, d)
	if err != nil || got != fresh {
		t.Fatalf("remember %+v: fresh %t, want %t, %v", k, got, fresh, err)
	}
	return was
}

func (e *env) deliver(t *testing.T, trigger, id string, d scheduling.Delivered, failure string) {
	t.Helper()
	e.answer(t, trigger, unsigned(id), d, failure)
}

func (e *env) answer(
	t *testing.T, trigger string, k scheduling.DeliveryKeys, d scheduling.Delivered, failure string,
) {
	t.Helper()
	if err := e.Deliveries.SettleDelivery(t.Context(), trigger, k, d, failure); err != nil {
		t.Fatalf("settle: %v", err)
	}
}

func (e *env) older(t *testing.T, age time.Duration) {
	t.Helper()
	if err := e.Older(t.Context(), age); err != nil {
		t.Fatal(err)
	}
}

func deliveryRemembered(t *testing.T, e *env) {
	h, other := e.hook(t), e.hook(t)
	before := time.Now().Add(-time.Hour)
	e.remember(t, h.ID, hard, leaseTime, true)
	e.deliver(t, h.ID, hard, scheduling.Delivered{RunID: "run_1"}, "")
	for range 2 {
		same(t, "the first result", scheduling.Delivered{RunID: "run_1", Done: true}, e.remember(t, h.ID, hard, gone, false))
	}
	e.remember(t, other.ID, hard, leaseTime, true)
	e.remember(t, h.ID, "another", leaseTime, true)
	got := e.stored(t, h.ID)
	if got.LastRunID != "run_1" || got.LastError != "" || got.LastFiredAt.Before(before) || got.Revision != 1 ||
		!got.UpdatedAt.Equal(h.UpdatedAt) {
		t.Errorf("the trigger is %+v", got.Trigger)
	}
	same(t, "the other trigger", other, e.stored(t, other.ID))
}

func deliveryUnderWay(t *testing.T, e *env) {
	h := e.hook(t)
	e.remember(t, h.ID, "1", leaseTime, true)
	same(t, "under way", scheduling.Delivered{}, e.remember(t, h.ID, "1", leaseTime, false))
	e.remember(t, h.ID, "2", gone, true)
	e.remember(t, h.ID, "2", leaseTime, true)
	e.remember(t, h.ID, "2", leaseTime, false)
}

func deliveryFailure(t *testing.T, e *env) {
	h := e.hook(t)
	e.remember(t, h.ID, "1", leaseTime, true)
	e.deliver(t, h.ID, "1", scheduling.Delivered{}, hard)
	got := e.stored(t, h.ID)
	if got.LastError != hard || got.LastRunID != "" || got.LastFiredAt.IsZero() {
		t.Errorf("the trigger is %+v", got.Trigger)
	}
	e.remember(t, h.ID, "1", leaseTime, true)
	e.deliver(t, h.ID, "1", scheduling.Delivered{RunID: "run_1"}, "")
	if got := e.stored(t, h.ID); got.LastError != "" || got.LastRunID != "run_1" {
		t.Errorf("the trigger is %+v", got.Trigger)
	}
	// A server that lost the delivery does not overwrite the result of another one.
	e.deliver(t, h.ID, "1", scheduling.Delivered{}, "lost")
	e.remember(t, h.ID, "1", leaseTime, false)
}

func deliveryIgnored(t *testing.T, e *env) {
	h := e.hook(t)
	e.remember(t, h.ID, "1", leaseTime, true)
	e.deliver(t, h.ID, "1", scheduling.Delivered{Ignored: "busy"}, "")
	same(t, "the trigger", h, e.stored(t, h.ID))
	e.remember(t, h.ID, "1", leaseTime, true)
	e.rememberKeys(t, h.ID, signed("2", "b"), leaseTime, true)
	e.answer(t, h.ID, signed("2", "b"), scheduling.Delivered{Ignored: "busy"}, "")
	e.rememberKeys(t, h.ID, signed("3", "b"), leaseTime, true)
	// A server that lost the delivery does not make another one forget its run.
	e.answer(t, h.ID, signed("3", "b"), scheduling.Delivered{RunID: "run_1"}, "")
	e.answer(t, h.ID, signed("3", "b"), scheduling.Delivered{Ignored: "busy"}, "")
	same(t, "the run", scheduling.Delivered{RunID: "run_1", Done: true},
		e.rememberKeys(t, h.ID, signed("3", "b"), leaseTime, false))
}

func deliveryOld(t *testing.T, e *env) {
	h := e.hook(t)
	e.remember(t, h.ID, "1", leaseTime, true)
	e.deliver(t, h.ID, "1", scheduling.Delivered{RunID: "run_1"}, "")
	e.older(t, scheduling.DeliveryMemory-time.Minute)
	e.remember(t, h.ID, "1", leaseTime, false)
	e.older(t, scheduling.DeliveryMemory+time.Minute)
	same(t, "afresh", scheduling.Delivered{}, e.remember(t, h.ID, "1", leaseTime, true))
	same(t, "under way", scheduling.Delivered{}, e.remember(t, h.ID, "1", leaseTime, false))
}

func deliveryForget(t *testing.T, e *env) {
	h := e.hook(t)
	e.remember(t, h.ID, "old", leaseTime, true)
	e.older(t, scheduling.DeliveryMemory+time.Minute)
	e.remember(t, h.ID, "young", leaseTime, true)
	e.deliver(t, h.ID, "young", scheduling.Delivered{RunID: "run_1"}, "")
	for range 2 {
		if err := e.Deliveries.ForgetDeliveries(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	e.older(t, 0)
	e.remember(t, h.ID, "young", leaseTime, false)
	e.remember(t, h.ID, "old", leaseTime, true)
}

func deliveryBody(t *testing.T, e *env) {
	h, other := e.hook(t), e.hook(t)
	e.rememberKeys(t, h.ID, signed("1", hard), leaseTime, true)
	same(t, "under way", scheduling.Delivered{}, e.rememberKeys(t, h.ID, signed("2", hard), leaseTime, false))
	e.answer(t, h.ID, signed("1", hard), scheduling.Delivered{RunID: "run_1"}, "")
	first := scheduling.Delivered{RunID: "run_1", Done: true}
	for _, k := range []scheduling.DeliveryKeys{signed("1", hard), signed("2", hard), signed("", hard), signed("1", "b"),
		unsigned("1")} {
		same(t, "the first result", first, e.rememberKeys(t, h.ID, k, gone, false))
	}
	// A delivery whose id was known leaves nothing of its body, and one whose body was known nothing of its id.
	e.rememberKeys(t, h.ID, signed("3", "b"), leaseTime, true)
	e.rememberKeys(t, h.ID, signed("2", "c"), leaseTime, true)
	e.rememberKeys(t, other.ID, signed("1", hard), leaseTime, true)
}

func deliveryBodyFailure(t *testing.T, e *env) {
	h := e.hook(t)
	e.rememberKeys(t, h.ID, signed("1", "b"), leaseTime, true)
	e.answer(t, h.ID, signed("1", "b"), scheduling.Delivered{}, "refused")
	e.rememberKeys(t, h.ID, signed("1", "b"), gone, true)
	// The server that took it died.
	e.rememberKeys(t, h.ID, signed("2", "b"), leaseTime, true)
	e.answer(t, h.ID, signed("2", "b"), scheduling.Delivered{RunID: "run_1"}, "")
	e.answer(t, h.ID, signed("1", "b"), scheduling.Delivered{}, "lost")
	same(t, "the first result", scheduling.Delivered{RunID: "run_1", Done: true},
		e.rememberKeys(t, h.ID, signed("3", "b"), leaseTime, false))
}

func deliveryBodyOld(t *testing.T, e *env) {
	h := e.hook(t)
	e.rememberKeys(t, h.ID, signed("1", "b"), leaseTime, true)
	e.answer(t, h.ID, signed("1", "b"), scheduling.Delivered{RunID: "run_1"}, "")
	tidy := func() {
		t.Helper()
		if err := e.Deliveries.ForgetDeliveries(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	e.older(t, scheduling.BodyMemory-time.Minute)
	tidy()
	e.remember(t, h.ID, "1", gone, true)
	e.rememberKeys(t, h.ID, signed("1", "b"), leaseTime, false)
	e.older(t, scheduling.BodyMemory+time.Minute)
	e.rememberKeys(t, h.ID, signed("2", "b"), leaseTime, true)
	e.older(t, scheduling.BodyMemory+time.Minute)
	tidy()
	e.older(t, 0)
	e.rememberKeys(t, h.ID, signed("2", "b"), leaseTime, true)
}

func (e *env) logged(t *testing.T, trigger string, w page.Window) ([]scheduling.LoggedDelivery, int) {
	t.Helper()
	list, total, err := e.Deliveries.LoggedDeliveries(t.Context(), trigger, w)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if time.Since(list[i].At).Abs() > time.Hour {
			t.Errorf("%+v is not of now", list[i])
		}
		list[i].At = time.Time{}
	}
	return list, total
}

func deliveryLog(t *testing.T, e *env) {
	h, other := e.hook(t), e.hook(t)
	first := scheduling.LoggedDelivery{Verdict: scheduling.Fired, Event: "push", DeliveryID: hard, RunID: "run_1"}
	second := scheduling.LoggedDelivery{Verdict: scheduling.Refused, Reason: hard}
	for _, d := range []scheduling.LoggedDelivery{first, second} {
		if err := e.Deliveries.LogDelivery(t.Context(), h.ID, d); err != nil {
			t.Fatal(err)
		}
	}
	list, total := e.logged(t, h.ID, page.Window{})
	same(t, "the log", []scheduling.LoggedDelivery{second, first}, list)
	part, of := e.logged(t, h.ID, page.Window{Offset: 1, Limit: 1})
	same(t, "a part", []scheduling.LoggedDelivery{first}, part)
	if total != 2 || of != 2 {
		t.Errorf("%d and %d are counted", total, of)
	}
	if list, total := e.logged(t, other.ID, page.Window{}); len(list) != 0 || total != 0 {
		t.Errorf("another trigger has %d, %+v", total, list)
	}
	if err := e.Deliveries.LogDelivery(t.Context(), "trg_gone", first); !scheduling.TriggerNotFound.Is(err) {
		t.Errorf("a trigger that is gone: %v", err)
	}
	err := e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Triggers.DeleteTrigger(ctx, h.ID, 0) })
	if err != nil {
		t.Fatal(err)
	}
	if _, total := e.logged(t, h.ID, page.Window{}); total != 0 {
		t.Errorf("%d are left of a trigger that is gone", total)
	}
}

func deliveryLogEnds(t *testing.T, e *env) {
	h, other := e.hook(t), e.hook(t)
	if err := e.Deliveries.LogDelivery(t.Context(), other.ID, scheduling.LoggedDelivery{Reason: "kept"}); err != nil {
		t.Fatal(err)
	}
	for i := range scheduling.DeliveryLog + 2 {
		d := scheduling.LoggedDelivery{Verdict: scheduling.Ignored, Reason: strconv.Itoa(i)}
		if err := e.Deliveries.LogDelivery(t.Context(), h.ID, d); err != nil {
			t.Fatal(err)
		}
	}
	list, total := e.logged(t, h.ID, page.Window{})
	if total != scheduling.DeliveryLog || len(list) != total || list[0].Reason != strconv.Itoa(total+1) ||
		list[total-1].Reason != "2" {
		t.Errorf("%d of %d, from %+v to %+v", len(list), total, list[0], list[len(list)-1])
	}
	if _, total := e.logged(t, other.ID, page.Window{}); total != 1 {
		t.Errorf("another trigger has %d", total)
	}
}
