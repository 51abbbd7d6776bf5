package runs_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

func TestSkippedLaunches(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.submit(launch(runs.BusySkip)) // without a limit
		b.end(b.claim())
		b.limit(runs.TemplateSlot+template, 2)
		first, second := b.submit(launch(runs.BusySkip)), b.submit(launch(runs.BusySkip))
		_, _, err := b.Submitter.Submit(t.Context(), launch(runs.BusySkip))
		if !runs.TemplateBusy.Is(err) || !strings.Contains(err.Error(), first.ID) {
			t.Fatalf("a third launch: %v", err)
		}
		b.submit(script())
		queued := b.submit(launch(runs.BusyQueue))
		a := b.wants(first)
		b.end(a)
		if _, _, err = b.Submitter.Submit(t.Context(), launch(runs.BusySkip)); !runs.TemplateBusy.Is(err) {
			t.Errorf("two are left, and a launch gets %v", err)
		}
		for _, r := range []*runs.Run{second, queued} {
			must[*runs.Run](t)(b.Controller.Cancel(t.Context(), r.ID))
		}
		b.submit(launch(runs.BusySkip))
	})
}

func TestHeldLaunchesAreNotSkipped(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.limit(runs.TemplateSlot+template, 1)
		b.policies.say(policy.Verdict{Holds: []runs.Hold{{Name: "look", Needed: 1}}})
		b.submit(launch(runs.BusySkip))
		b.submit(launch(runs.BusySkip))
		b.policies.say(policy.Verdict{})
		first := b.submit(launch(runs.BusySkip)) // held ones do not count
		b.policies.say(policy.Verdict{Holds: []runs.Hold{{Name: "look", Needed: 1}}})
		b.status(b.submit(launch(runs.BusySkip)).ID, runs.PendingApproval)
		b.end(b.wants(first))
	})
}

func TestReplayOfASkippedLaunch(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.limit(runs.TemplateSlot+template, 1)
		q := launch(runs.BusySkip)
		q.Idempotency = &runs.Idempotency{Key: "k", Scope: "launch", Digest: [32]byte{1}}
		first := b.submit(q)
		again, replayed, err := b.Submitter.Submit(t.Context(), q)
		if err != nil || !replayed || again.ID != first.ID {
			t.Errorf("%+v, %t, %v", again, replayed, err)
		}
		// A refused launch leaves its key free.
		q.Idempotency = &runs.Idempotency{Key: "l", Scope: "launch", Digest: [32]byte{1}}
		if _, _, err := b.Submitter.Submit(t.Context(), q); !runs.TemplateBusy.Is(err) {
			t.Fatalf("refused: %v", err)
		}
		b.end(b.wants(first))
		if second, replayed, err := b.Submitter.Submit(t.Context(), q); err != nil || replayed || second.ID == first.ID {
			t.Errorf("%+v, %t, %v", second, replayed, err)
		}
	})
}

func TestReplacedLaunches(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.limit(runs.TemplateSlot+template, 2)
		first, second := b.submit(launch(runs.BusyReplace)), b.submit(launch(runs.BusyReplace))
		a := b.wants(first)
		b.begin(a)
		third := b.submit(launch(runs.BusyReplace))
		if r := b.status(first.ID, runs.Running); !r.CancelRequested {
			t.Error("the oldest is not to be cancelled")
		}
		b.status(second.ID, runs.Pending)
		fourth := b.submit(launch(runs.BusyReplace))
		b.status(second.ID, runs.Canceled)
		b.status(third.ID, runs.Pending)
		b.finish(a, runs.Ending{Status: runs.Canceled})
		b.end(b.wants(third))
		b.end(b.wants(fourth))
	})
}

// TestReplaceNeedsTheRight has a caller who may launch but not act on one of the runs. The launch waits.
func TestReplaceNeedsTheRight(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, l *ledger) {
		b.limit(runs.TemplateSlot+template, 1)
		q := launch(runs.BusyReplace)
		q.Queue = "apart"
		first := b.submit(q)
		l.must(t, access.Queue("apart"), map[string]access.Level{"ada": access.Read})
		made, _, err := b.Submitter.Submit(as(t, "ada"), launch(runs.BusyReplace))
		if err != nil {
			t.Fatal(err)
		}
		b.status(first.ID, runs.Pending)
		b.status(made.ID, runs.Pending)
		// A run that the caller may not read is not named either.
		l.must(t, access.Queue("apart"), nil)
		_, _, err = b.Submitter.Submit(as(t, "ada"), launch(runs.BusySkip))
		if !runs.TemplateBusy.Is(err) || strings.Contains(err.Error(), first.ID) {
			t.Errorf("%v", err)
		}
	})
}

// TestReplaceNeedsTheOperation has a caller who may use all objects of the runs, and not ask for their cancellation.
// The launch waits.
func TestReplaceNeedsTheOperation(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, _ *ledger) {
		b.limit(runs.TemplateSlot+template, 1)
		first := b.submit(launch(runs.BusyReplace))
		made := must[*runs.Run](t)(b.launchAs(as(t, "launcher")))
		b.status(first.ID, runs.Pending)
		must[*runs.Run](t)(b.launchAs(as(t, "ada")))
		b.status(first.ID, runs.Canceled)
		b.status(made.ID, runs.Canceled)
	})
}

func (b *bundle) launchAs(ctx context.Context) (*runs.Run, error) {
	r, _, err := b.Submitter.Submit(ctx, launch(runs.BusyReplace))
	return r, err
}

// TestReplaceWaitsForItsWindow has a launch that may not start now. It cancels nothing.
func TestReplaceWaitsForItsWindow(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.limit(runs.TemplateSlot+template, 1)
		first := b.submit(launch(runs.BusyReplace))
		b.policies.say(shut(inAnHour(), 1))
		b.submit(launch(runs.BusyReplace))
		b.status(first.ID, runs.Pending)
		b.policies.say(open(inAnHour(), 1))
		b.submit(launch(runs.BusyReplace))
		b.status(first.ID, runs.Canceled)
	})
}

func TestSkippedLaunchesRace(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.limit(runs.TemplateSlot+template, 1)
		for range depthtest.Of(5, 50) {
			const n = 8
			var wg sync.WaitGroup
			made := make(chan string, n)
			for range n {
				wg.Go(func() {
					r, _, err := b.Submitter.Submit(t.Context(), launch(runs.BusySkip))
					if err == nil {
						made <- r.ID
					} else if !runs.TemplateBusy.Is(err) {
						t.Errorf("launch: %v", err)
					}
				})
			}
			wg.Wait()
			close(made)
			if len(made) != 1 {
				t.Fatalf("%d launches at once made runs", len(made))
			}
			b.end(b.claim())
		}
	})
}

// TestReplaceRacesFinish has a launch replace a run that ends at the same time.
func TestReplaceRacesFinish(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.limit(runs.TemplateSlot+template, 1)
		b.submit(launch(runs.BusyReplace))
		for range depthtest.Of(10, 100) {
			a := b.claim()
			b.begin(a)
			launched, finished := both(
				func() error {
					_, _, err := b.Submitter.Submit(t.Context(), launch(runs.BusyReplace))
					return err
				},
				func() error { return b.Worklist.Finish(t.Context(), a.Lease, runs.Ending{Status: runs.Succeeded}) },
			)
			if launched != nil || finished != nil {
				t.Fatalf("launch: %v, finish: %v", launched, finished)
			}
			b.status(a.Run.ID, runs.Succeeded)
		}
		b.end(b.claim())
		b.idle()
	})
}
