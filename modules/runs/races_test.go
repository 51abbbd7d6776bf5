package runs_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/runs"
)

// both calls two functions at once and returns their errors.
func both(a, b func() error) (errA, errB error) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	wg.Go(func() { <-start; errA = a() })
	wg.Go(func() { <-start; errB = b() })
	close(start)
	wg.Wait()
	return errA, errB
}

// Keeps F29.
func TestCancelRacesFinish(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		const workers = 8
		each := depthtest.Of(8, 125)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range each {
					raceCancel(t, b)
				}
			})
		}
		wg.Wait()
		// A run can be claimed before its submitter's call has returned, and the recorder of these tests gets the
		// entry only then.
		for _, id := range b.trail.ended() {
			want := map[audit.Action]int{audit.RunSubmit: 1, audit.RunStart: 1, audit.RunFinal: 1}
			if r, err := b.Reader.Get(t.Context(), id); err != nil || r.CancelRequested {
				want[audit.RunCancel] = 1
			}
			got := map[audit.Action]int{}
			for _, act := range b.trail.actions(id) {
				got[act]++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", id, diff)
			}
		}
		if n := len(b.trail.ended()); n != workers*each {
			t.Errorf("%d of %d runs ended", n, workers*each)
		}
	})
}

func raceCancel(t *testing.T, b *bundle) {
	ctx := t.Context()
	if _, _, err := b.Submitter.Submit(ctx, script()); err != nil {
		t.Error(err)
		return
	}
	var a *runs.Assignment
	for a == nil { // another claimer may just hold the only run that this one saw
		var err error
		if a, err = b.Worklist.Claim(ctx, runs.ClaimRequest{Worker: "w1"}); err != nil {
			t.Errorf("claim: %v", err)
			return
		}
	}
	if err := b.Worklist.Begin(ctx, a.Lease); err != nil {
		t.Error(err)
		return
	}
	cancel, finish := both(
		func() error { _, err := b.Controller.Cancel(ctx, a.Run.ID); return err },
		func() error { return b.Worklist.Finish(ctx, a.Lease, runs.Ending{Status: runs.Succeeded}) },
	)
	if finish != nil || cancel != nil && !runs.RunNotCancelable.Is(cancel) {
		t.Errorf("finish: %v, cancel: %v", finish, cancel)
	}
	r, err := b.Reader.Get(ctx, a.Run.ID)
	if err != nil || r.Status != runs.Succeeded || (cancel == nil) != r.CancelRequested {
		t.Errorf("%+v, %v after cancel: %v", r, err, cancel)
	}
	if n := len(b.heard.finished(a.Run.ID)); n != 1 {
		t.Errorf("ended %d times", n)
	}
}

func TestCancelRacesClaim(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for range depthtest.Of(12, 100) {
			r := b.divided(2, "a", "b")
			var got *runs.Assignment
			cancel, claim := both(
				func() error { _, err := b.Controller.Cancel(t.Context(), r.ID); return err },
				func() (err error) {
					got, err = b.Worklist.Claim(t.Context(), runs.ClaimRequest{Worker: "w1"})
					return err
				},
			)
			if cancel != nil || claim != nil {
				t.Fatalf("cancel: %v, claim: %v", cancel, claim)
			}
			if got != nil {
				if s := b.get(got.Run.ID); !s.CancelRequested {
					t.Fatalf("a shard that was claimed first is %s and not to be cancelled", s.Status)
				}
				b.finish(got, runs.Ending{Status: runs.Canceled})
			}
			b.status(r.ID, runs.Canceled)
			b.endedOnce(r.ID)
		}
	})
}

// endedOnce checks that the trail has one cancel of a parent, and one end of it and of each of its children.
func (b *bundle) endedOnce(id string) {
	b.t.Helper()
	for _, k := range append(b.children(id), b.get(id)) {
		if n := b.trail.count(k.ID, audit.RunFinal); n != 1 {
			b.t.Errorf("%s %s has %d ends", k.Kind, k.Status, n)
		}
	}
	if n := b.trail.count(id, audit.RunCancel); n != 1 {
		b.t.Errorf("%d cancels", n)
	}
}

func TestCancelRacesTheNextStep(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for range depthtest.Of(12, 100) {
			p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{stage("a"), stage("b")}})
			a := b.claim()
			b.begin(a)
			cancel, finish := both(
				func() error { _, err := b.Controller.Cancel(t.Context(), p.ID); return err },
				func() error { return b.Worklist.Finish(t.Context(), a.Lease, runs.Ending{Status: runs.Succeeded}) },
			)
			if cancel != nil || finish != nil {
				t.Fatalf("cancel: %v, finish: %v", cancel, finish)
			}
			b.status(p.ID, runs.Canceled)
			b.endedOnce(p.ID)
			b.idle()
		}
	})
}

// Keeps T35.
func TestApproveRacesReject(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := script()
		s.RequireApproval = true
		for range depthtest.Of(15, 100) {
			r := b.submit(s)
			yes, no := both(
				func() error {
					_, err := b.Approver.Approve(admin(t.Context()), r.ID, runs.DecisionInput{Reason: ""})
					return err
				},
				func() error {
					_, err := b.Approver.Reject(admin(t.Context()), r.ID, runs.DecisionInput{Reason: ""})
					return err
				},
			)
			got := b.get(r.ID)
			switch {
			case yes == nil && runs.RunNotHeld.Is(no) && got.Status == runs.Pending && got.Decision.Verdict == runs.Approved:
			case no == nil && runs.RunNotHeld.Is(yes) && got.Status == runs.Rejected &&
				got.Decision.Verdict == runs.RejectedByRule:
			default:
				t.Fatalf("approve: %v, reject: %v, the run is %s", yes, no, got.Status)
			}
		}
	})
}

func TestEqualRequestsAtOnceMakeOneRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for i := range depthtest.Of(4, 20) {
			s := script()
			s.Idempotency = &runs.Idempotency{Key: string(rune('a' + i)), Scope: "submit"}
			var ids sync.Map
			var made atomic.Int64
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					r, replayed, err := b.Submitter.Submit(t.Context(), s)
					if err != nil {
						t.Error(err)
						return
					}
					ids.Store(r.ID, true)
					if !replayed {
						made.Add(1)
					}
				})
			}
			wg.Wait()
			n := 0
			ids.Range(func(any, any) bool { n++; return true })
			if n != 1 || made.Load() != 1 {
				t.Fatalf("%d runs, %d of them new", n, made.Load())
			}
		}
	})
}

// Keeps T23.
func TestTicketsOpenOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(script())
		ticket := must[string](t)(b.Tickets.Mint(t.Context(), r.ID))
		var opened atomic.Int64
		var wg sync.WaitGroup
		for range depthtest.Of(30, 100) {
			wg.Go(func() {
				if _, err := b.Tickets.Redeem(t.Context(), ticket, r.ID); err == nil {
					opened.Add(1)
				} else if !runs.BadTicket.Is(err) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if opened.Load() != 1 {
			t.Errorf("opened %d times", opened.Load())
		}
	})
}

// TestApprovalRacesAnEdit edits the inventory of a held run while it is approved. The run is bound to what the approver
// has seen, or the approval is stale.
//
// Keeps T35.
func TestApprovalRacesAnEdit(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		s.setInherited(keyInventory)
		q := over(keyInventory)
		q.RequireApproval = true
		for range depthtest.Of(20, 100) {
			s.setContent("seen")
			r := b.submit(q)
			yes, _ := both(
				func() error { _, err := b.Approver.Approve(admin(t.Context()), r.ID, runs.DecisionInput{}); return err },
				func() error { s.setContent("edited"); return nil },
			)
			a := b.get(r.ID).Approvals
			switch {
			case runs.ApprovalStale.Is(yes):
				b.status(r.ID, runs.PendingApproval)
			case yes != nil:
				t.Fatal(yes)
			case a.Confirm("inventory", keyInventory, "seen") != nil, a.Confirm("inventory", keyInventory, "edited") == nil:
				t.Fatalf("approved %+v", a.Approved)
			}
			must[*runs.Run](t)(b.Controller.Cancel(t.Context(), r.ID))
		}
	})
}
