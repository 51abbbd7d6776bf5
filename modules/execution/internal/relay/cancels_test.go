package relay_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// want requests the cancel of a run.
func (w *fixture) want(id string) {
	w.t.Helper()
	yes := true
	w.must(w.d.Do(w.t.Context(), func(ctx context.Context) error {
		if err := w.plane.store.Amend(ctx, id, runs.Amendment{CancelRequested: &yes}); err != nil {
			return err
		}
		return w.d.Signals().Signal(ctx, events.TopicCancel, id)
	}))
}

// TestCancelsWakeAClaim checks that a claim for cancels gets the runs of its worker that it did not list, without a
// heartbeat.
func TestCancelsWakeAClaim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		var leased []string
		for range 2 {
			w.submit()
			g, _, err := w.relay.Claim(t.Context(), asks("w"))
			w.must(err)
			leased = append(leased, g.Run.ID)
		}
		w.submit()
		other, _, err := w.relay.Claim(t.Context(), asks("other"))
		w.must(err)
		looked := make(chan struct{}, 64)
		w.plane.hook(func(op string) error {
			if op == "held" {
				looked <- struct{}{}
			}
			return nil
		})
		ask := func(known ...string) <-chan *execution.Grant {
			c, out := asks("w"), make(chan *execution.Grant, 1)
			c.Cancels, c.Canceling, c.WaitSeconds = true, known, 30
			go func() {
				g, _, err := w.relay.Claim(t.Context(), c)
				if err != nil {
					t.Error(err)
				}
				out <- g
			}()
			<-looked
			return out
		}
		waits := ask()
		w.want(other.Run.ID)
		w.want(leased[1])
		if g := <-waits; g == nil || !slices.Equal(g.CancelRequested, leased[1:]) || g.Run.ID != "" || g.Capability != "" {
			t.Errorf("the claim brings %+v", g)
		}
		waits = ask(leased[1])
		w.want(leased[0])
		if g := <-waits; g == nil || !slices.Equal(g.CancelRequested, leased[:1]) {
			t.Errorf("the next one brings %+v", g)
		}
		if g := <-ask(); g == nil || len(g.CancelRequested) != 2 {
			t.Errorf("one that begins afterwards brings %+v", g)
		}
		waits = ask(leased...)
		w.relay.Close()
		if g := <-waits; g != nil {
			t.Errorf("when the server stops it brings %+v", g)
		}
	})
}

// TestACancelWithoutAPlaceToWait checks that a worker gets a cancel with its next heartbeat when all places for
// waiting are taken.
func TestACancelWithoutAPlaceToWait(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		const places = 4096
		wait := func(name string) error {
			c := asks(name)
			c.Cancels, c.WaitSeconds = true, 30
			_, _, err := s.relay.Claim(t.Context(), c)
			return err
		}
		var waiting sync.WaitGroup
		for range places {
			waiting.Go(func() {
				if err := wait("other"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if err := wait("w"); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("a claim beyond the last place: %v", err)
		}
		s.mu.Lock()
		s.beats = []runs.Beat{{RunID: "run_1", CancelRequested: true}}
		s.mu.Unlock()
		beat, err := s.relay.Beat(t.Context(), execution.Leaseholder{RunID: "run_1"})
		if err != nil || !beat.CancelRequested {
			t.Errorf("the heartbeat returns %+v, %v", beat, err)
		}
		waiting.Wait()
		if err := wait("w"); err != nil {
			t.Errorf("when places are free again: %v", err)
		}
	})
}
