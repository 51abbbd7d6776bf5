package scheduling_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Keeps T05.
func TestHookResent(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x, other := b.hook(), b.hook(func(x *scheduling.Trigger) { x.Name = "other" })
		again := func(d scheduling.Delivery, run string) {
			t.Helper()
			before := len(b.fixture.runs())
			got, err := b.Hooks.Deliver(b.outside(), d)
			if err != nil || got != (scheduling.Delivered{RunID: run, Done: true}) || len(b.fixture.runs()) != before {
				t.Errorf("%+v, %v", got, err)
			}
		}
		b.fires(github(x, "1"))
		again(github(x, "1"), "run_1")
		// Neither the id nor the name of the forge is signed, so the body counts.
		for _, id := range []string{"d1", "d2", "d3", ""} {
			again(github(x, id), "run_1")
			again(fromGitea(x, "push", githubPush, id), "run_1")
			again(fromGitLab(x, "Push Hook", githubPush, id), "run_1")
		}
		// The body may differ: the delivery's id counts.
		again(fromGitHub(x, "push", githubTag, "1"), "run_1")
		b.fires(github(other, "1"))
		b.fires(fromGitHub(x, "push", githubTag, "2"))
		b.fires(fromGitLab(x, "Push Hook", gitlabPush, "1"))
		again(fromGitLab(x, "Push Hook", gitlabPush, "2"), "run_4")
		b.ages(scheduling.BodyMemory - time.Minute)
		again(github(x, "1"), "run_1")
	})
}

// TestUnsignedHookResent: a body without a signature identifies its delivery only if the forge sends no id.
func TestUnsignedHookResent(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook(func(x *scheduling.Trigger) { x.RequireSignature = false })
		unsigned := func(id string) scheduling.Delivery {
			return deliver(x, githubPush, "X-GitHub-Event", "push", "X-GitHub-Delivery", id)
		}
		b.fires(unsigned(""))
		b.fires(unsigned("1"))
		b.fires(unsigned("2"))
		for id, run := range map[string]string{"": "run_1", "1": "run_2", "2": "run_3"} {
			if got, err := b.Hooks.Deliver(b.outside(), unsigned(id)); err != nil || got.RunID != run {
				t.Errorf("%q: %+v, %v", id, got, err)
			}
		}
		// It takes no signed body's place.
		b.fires(github(x, "3"))
	})
}

// ages makes all deliveries older.
func (b *bundle) ages(age time.Duration) {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		now := b.d.Dialect().LeaseNow()
		_, err := b.d.InUnit(ctx).NewRaw("UPDATE hook_deliveries SET seen_at = ?", now.Add(-age)).Exec(ctx)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestHookFailures(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook()
		failed := func(what string, code fault.Code, reason string) {
			t.Helper()
			_, err := b.Hooks.Deliver(b.outside(), github(x, "1"))
			if !fault.Is(err, code.Kind) || code.Name != "" && !code.Is(err) {
				t.Errorf("%s: %v", what, err)
			}
			if got, err := b.Triggers.Get(t.Context(), x.ID); err != nil || got.LastError != reason ||
				got.LastFiredAt.IsZero() || got.LastRunID != "" {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
		}
		b.fixture.set(func() { b.fixture.fails = catalog.TemplateNotFound.New("no template") })
		failed("a launch", catalog.TemplateNotFound, "no template")
		b.fixture.set(func() { b.fixture.fails = errors.New("secret detail") })
		failed("an accident", fault.Code{Kind: fault.Internal}, "an internal error, which the server's log names")
		b.fixture.set(func() { b.fixture.fails = nil; b.fixture.gone["usr_1"] = true })
		failed("the owner", scheduling.NotAllowed, "the account that owns the trigger is gone")
		b.fixture.set(func() { b.fixture.gone = nil })
		b.fires(github(x, "1"))
		if got, err := b.Triggers.Get(t.Context(), x.ID); err != nil || got.LastError != "" || got.LastRunID != "run_1" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestHookOfABusyTemplate answers a delivery whose launch is skipped as an ignored one, which may be sent again.
func TestHookOfABusyTemplate(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook()
		b.fixture.set(func() { b.fixture.fails = runs.TemplateBusy.New("run_1 of the template is not finished") })
		b.ignores(github(x, "1"), "template_busy")
		if got, err := b.Triggers.Get(t.Context(), x.ID); err != nil || got.LastError != "" || !got.LastFiredAt.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
		b.fixture.set(func() { b.fixture.fails = nil })
		b.fires(github(x, "1"))
	})
}

// TestHookAtOnce delivers the same push many times at once, under one id and under many: all answers contain the run.
func TestHookAtOnce(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook()
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				got, err := b.Hooks.Deliver(b.outside(), github(x, strconv.Itoa(i/2)))
				if err != nil || got != (scheduling.Delivered{RunID: "run_1", Done: true}) {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
		group.Wait()
		if n := len(b.fixture.runs()); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

// TestHookOutlivesItsProvider: the forge closes the connection; the run is created and recorded nevertheless.
func TestHookOutlivesItsProvider(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, c *counting) {
		x := b.hook()
		ctx, hangUp := context.WithCancel(b.outside())
		c.DeliveryStore = hanging{c.DeliveryStore, hangUp}
		got, err := b.Hooks.Deliver(ctx, github(x, "1"))
		if err != nil || got.RunID != "run_1" || ctx.Err() == nil {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := b.Triggers.Get(t.Context(), x.ID); err != nil || got.LastRunID != "run_1" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// hanging cancels a context as soon as a delivery is stored.
type hanging struct {
	scheduling.DeliveryStore
	up func()
}

func (h hanging) Remember(
	ctx context.Context, t string, k scheduling.DeliveryKeys, leaseTime time.Duration,
) (scheduling.Delivered, bool, error) {
	was, fresh, err := h.DeliveryStore.Remember(ctx, t, k, leaseTime)
	h.up()
	return was, fresh, err
}
