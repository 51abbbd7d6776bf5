package scheduling_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// TestDeliveriesAreLogged sends one delivery of each verdict. Only who may read the trigger reads its log.
func TestDeliveriesAreLogged(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook(func(x *scheduling.Trigger) { x.Branch = "main" })
		send := func(d scheduling.Delivery) { _, _ = b.Hooks.Deliver(b.outside(), d) }
		b.fires(github(x, "1"))
		send(github(x, "1"))
		b.ignores(fromGitHub(x, "ping", githubPing, "2"), "ping")
		b.fixture.set(func() { b.fixture.fails = runs.UseRequired.New("no use\nof the template") })
		send(fromGitHub(x, "push", githubPush+"\n", "3\t\u2028"+strings.Repeat("x", 300)))
		b.fixture.set(func() { b.fixture.fails = nil })
		wrong := github(x, "4")
		wrong.Header.Set("X-Hub-Signature-256", "sha256=00")
		send(wrong)
		send(wrong) // a second refusal within a moment is not logged
		nothing := github(x, "5")
		nothing.Token = "nothing"
		send(nothing)

		list, total, err := b.Triggers.Deliveries(b.as("usr_1"), x.ID, page.Window{})
		if err != nil || total != 5 || len(list) != 5 {
			t.Fatalf("%d, %+v, %v", total, list, err)
		}
		for i := range list {
			list[i].At = time.Time{}
		}
		cut := list[1]
		if !strings.HasPrefix(cut.DeliveryID, "3 xxx") || len(cut.DeliveryID) > 200 {
			t.Errorf("a long id is %q", cut.DeliveryID)
		}
		list[1].DeliveryID = ""
		same(t, "the log", []scheduling.LoggedDelivery{
			{Verdict: scheduling.Refused, Reason: "the signature of the delivery is missing or wrong"},
			{Verdict: scheduling.Failed, Event: "push", Reason: "no use of the template"},
			{Verdict: scheduling.Ignored, Event: "ping", DeliveryID: "2", Reason: "ping"},
			{Verdict: scheduling.Repeated, Event: "push", DeliveryID: "1", RunID: "run_1"},
			{Verdict: scheduling.Fired, Event: "push", DeliveryID: "1", RunID: "run_1"},
		}, list)

		b.fixture.set(func() { b.fixture.levels = map[string]access.Level{tpl1: access.None} })
		_, _, err = b.Triggers.Deliveries(b.as("usr_2"), x.ID, page.Window{})
		refused(t, "without the right to read it", err, scheduling.TriggerNotFound, "")
	})
}

// TestServersFaultIsNoRefusal: a delivery that cannot be checked has failed, and may be sent again.
func TestServersFaultIsNoRefusal(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook()
		err := b.d.Do(t.Context(), func(ctx context.Context) error { // the key that sealed the secret is gone
			_, err := b.store.ReplaceSecret(ctx, x.ID, []byte("odd"), start)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Hooks.Deliver(b.outside(), github(x, "1")); err == nil {
			t.Fatal("it was taken")
		}
		list, _, err := b.Triggers.Deliveries(b.as("usr_1"), x.ID, page.Window{})
		if err != nil || len(list) != 1 || list[0].Verdict != scheduling.Failed || list[0].Reason == "" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestRefusalsOfBodies logs a signed delivery that has no known form as refused, with what it is.
func TestRefusalsOfBodies(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook()
		_, err := b.Hooks.Deliver(b.outside(), fromGitHub(x, "push", "{", "1"))
		if err == nil {
			t.Fatal("it was taken")
		}
		list, _, err := b.Triggers.Deliveries(b.as("usr_1"), x.ID, page.Window{})
		if err != nil || len(list) != 1 || list[0].Verdict != scheduling.Refused || list[0].Event != "push" ||
			list[0].DeliveryID != "1" || list[0].Reason == "" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}
