package relay_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

func denied() error { return execution.WorkerNameDenied.New("the name belongs to another worker") }

func revoked() error { return execution.BadWorkerToken.New("the token was revoked") }

// TestTheGateDecides about each claim and each report: what it refuses changes nothing.
func TestTheGateDecides(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		g, h := w.begun()
		w.submit()
		w.gate.refuses(denied(), runs.LeaseLost.New("another worker's"))
		before, fleet := w.picture(), len(w.fleet())
		leaving := asks("w")
		leaving.Worker.Executors = 0
		for name, c := range map[string]execution.RelayClaim{"a claim": asks("w"), "leaving": leaving,
			"cancels": {Worker: asks("w").Worker, Cancels: true}} {
			if got, _, err := w.relay.Claim(t.Context(), c); got != nil || !execution.WorkerNameDenied.Is(err) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		for name, call := range w.calls(g.Run.NextSeq) {
			if err := call(t.Context(), h); !runs.LeaseLost.Is(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := w.picture(); after != before || len(w.fleet()) != fleet {
			t.Errorf("%s\n%s", before, after)
		}
	})
}

// TestARevocationEndsWaits: claims that wait for runs and for cancels end with the signal.
func TestARevocationEndsWaits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		var claims, looks atomic.Int64
		w.plane.hook(func(op string) error {
			switch op {
			case "claim":
				claims.Add(1)
			case "held": // by the reports of two workers, and for cancels
				looks.Add(1)
			}
			return nil
		})
		ended := make(chan error, 3)
		for _, c := range []execution.RelayClaim{asks("a"), asks("b", "other"), {Worker: asks("a").Worker, Cancels: true}} {
			c.WaitSeconds = 30
			go func() {
				_, _, err := w.relay.Claim(context.WithoutCancel(t.Context()), c)
				ended <- err
			}()
		}
		w.until("the claims wait", func() bool { return claims.Load() >= 2 && looks.Load() >= 3 })
		w.gate.refuses(revoked(), nil)
		w.must(w.d.Do(t.Context(), func(ctx context.Context) error {
			return w.d.Signals().Signal(ctx, events.TopicWorker, "wkt_1")
		}))
		for range cap(ended) {
			if err := <-ended; !execution.BadWorkerToken.Is(err) {
				t.Errorf("a claim ends with %v", err)
			}
		}
	})
}

// TestARevocationDuringAClaim: a worker whose token is revoked while its secrets are fetched gets neither them nor the
// run.
func TestARevocationDuringAClaim(t *testing.T) {
	t.Parallel()
	w := one(t)
	id := w.submit(keyed)
	w.vault.does(func(context.Context, secrets.Owner, []string) error {
		w.gate.refuses(revoked(), nil)
		return nil
	})
	if g, _, err := w.relay.Claim(t.Context(), asks("w")); g != nil || !execution.BadWorkerToken.Is(err) {
		t.Errorf("%+v, %v", g, err)
	}
	if r := w.run(id); r.Status != runs.Pending {
		t.Errorf("the run is %s", r.Status)
	}
	w.until("its secrets are revoked", func() bool { return w.vault.let(secrets.Owner{ID: id, Epoch: 1}) })
}
