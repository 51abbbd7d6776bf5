package runs_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

func TestARunFromSubmitToEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := actor.With(t.Context(), actor.Actor{Type: actor.User, ID: "usr_1", Name: "ann"})
		s := script()
		s.ExtraVars = runs.Vars{"api_token": []byte(`"hush"`), "same": []byte(`"hush"`), "n": []byte(`1`)}
		r, replayed, err := b.Submitter.Submit(ctx, s)
		if err != nil || replayed || r.Status != runs.Pending || r.Actor.Name != "ann" || r.QueuedAt.IsZero() {
			t.Fatalf("%+v, %v, %v", r, replayed, err)
		}
		if string(r.Vars["api_token"]) != `"[redacted]"` || string(r.Vars["same"]) != `"[redacted]"` {
			t.Errorf("vars %s", r.Vars)
		}
		a := b.claim()
		if a.Run.ID != r.ID || string(a.Run.Vars["api_token"]) != `"hush"` {
			t.Fatalf("claimed %+v", a.Run)
		}
		b.begin(a)
		next := must[int64](t)(b.Journal.AppendLog(ctx, a.Lease, runs.LogChunk{Data: []byte("one\n")}))
		sum := sha256.Sum256([]byte("one\ntwo\n"))
		code := 0
		e := runs.Ending{Status: runs.Succeeded, ExitCode: &code, Log: runs.LogChunk{Offset: next, Data: []byte("two\n")},
			LogBytes:  8,
			LogSHA256: hex.EncodeToString(sum[:]), Outputs: runs.Vars{"o": []byte(`2`)}, Touched: 1,
			Events: []runs.Event{{Seq: a.NextSeq, Type: runs.EventHostOK, Host: "h"}},
			Hosts:  []runs.HostSummary{{Host: "h", OK: 1, Worst: runs.HostOK}}, Counts: runs.HostCounts{runs.HostOK: 1}}
		b.finish(a, e)
		b.finish(a, e) // the answer was lost
		got := b.status(r.ID, runs.Succeeded)
		if got.LogBytes != 8 || got.LogSHA256 != e.LogSHA256 || *got.ExitCode != 0 || got.HostsTouched != 1 ||
			got.EndedAt.IsZero() {
			t.Errorf("%+v", got)
		}
		p := must[*runs.EventPage](t)(b.Reader.Events(ctx, r.ID, 0, 0))
		var types []runs.EventType
		for i, ev := range p.Events {
			if ev.Seq != int64(i+1) {
				t.Fatalf("event %d stands at %d", ev.Seq, i)
			}
			types = append(types, ev.Type)
		}
		if diff := cmp.Diff([]runs.EventType{runs.EventStatus, runs.EventHostOK, runs.EventStatus}, types); diff != "" ||
			!p.End {
			t.Errorf("end %v\n%s", p.End, diff)
		}
		if n := len(b.heard.finished(r.ID)); n != 1 {
			t.Errorf("the end was published %d times", n)
		}
		if log, v := b.log(r.ID, runs.LogRange{}); log != "one\ntwo\n" || v.Truncated || !v.Sealed {
			t.Errorf("log %q, %+v", log, v)
		}
		if log, v := b.log(r.ID, runs.LogRange{Tail: 3}); log != "wo\n" || v.Omitted != 5 || !v.Truncated {
			t.Errorf("tail %q, %+v", log, v)
		}
		if err := b.Worklist.Finish(ctx, a.Lease, runs.Ending{Status: runs.Failed}); !runs.LeaseLost.Is(err) {
			t.Errorf("another ending: %v", err)
		}
		if _, err := b.Journal.AppendLog(ctx, a.Lease,
			runs.LogChunk{Offset: 8, Data: []byte("late")}); !runs.LeaseLost.Is(err) {
			t.Errorf("late output: %v", err)
		}
		if err := b.Journal.SaveHosts(ctx, a.Lease, nil); !runs.LeaseLost.Is(err) {
			t.Errorf("late summary: %v", err)
		}
	})
}

func (b *bundle) log(id string, rg runs.LogRange) (string, *runs.LogView) {
	b.t.Helper()
	v := must[*runs.LogView](b.t)(b.Reader.Log(b.t.Context(), id, rg))
	var out bytes.Buffer
	if err := v.Copy(b.t.Context(), &out); err != nil {
		b.t.Fatal(err)
	}
	return out.String(), v
}

func TestHeldRuns(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := script()
		s.RequireApproval = true
		r := b.submit(s)
		if r.Status != runs.PendingApproval || r.HeldBy() == nil || r.HeldBy().Name != "require_approval" {
			t.Fatalf("%+v", r)
		}
		b.idle()
		ctx := actor.With(t.Context(), actor.Actor{Type: actor.User, Name: "bob"})
		r = must[*runs.Run](t)(b.Approver.Approve(admin(ctx), r.ID, runs.DecisionInput{Reason: "fine"}))
		if r.Status != runs.Pending || r.Decision.By.Name != "bob" || r.Decision.Verdict != runs.Approved ||
			r.Decision.Reason != "fine" {
			t.Errorf("%+v", r.Decision)
		}
		if _, err := b.Approver.Reject(admin(ctx), r.ID, runs.DecisionInput{Reason: ""}); !runs.RunNotHeld.Is(err) {
			t.Errorf("reject of an approved run: %v", err)
		}
		b.run(runs.Succeeded)
		r = must[*runs.Run](t)(b.Approver.Reject(admin(ctx), b.submit(s).ID, runs.DecisionInput{Reason: "no"}))
		if r.Status != runs.Rejected || len(b.heard.finished(r.ID)) != 1 {
			t.Errorf("%s, published %v", r.Status, b.heard.finished(r.ID))
		}
		held := b.submit(s)
		must[*runs.Run](t)(b.Controller.Cancel(ctx, held.ID))
		b.status(held.ID, runs.Canceled)
		b.idle()
		if _, err := b.Approver.Approve(admin(ctx), "run_none", runs.DecisionInput{}); !runs.RunNotFound.Is(err) {
			t.Errorf("unknown: %v", err)
		}
	})
}

func TestCancel(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		r := b.submit(script())
		if got := must[*runs.Run](t)(b.Controller.Cancel(ctx, r.ID)); got.Status != runs.Canceled {
			t.Fatalf("a pending run is %s", got.Status)
		}
		if _, err := b.Controller.Cancel(ctx, r.ID); !runs.RunNotCancelable.Is(err) {
			t.Errorf("an ended run: %v", err)
		}
		r = b.submit(script())
		a := b.claim()
		b.begin(a)
		for range 2 {
			if got := must[*runs.Run](t)(b.Controller.Cancel(ctx, r.ID)); got.Status != runs.Running || !got.CancelRequested {
				t.Fatalf("a running run is %s", got.Status)
			}
		}
		beats := must[[]runs.Beat](t)(b.Worklist.Beat(ctx, "w1", []runs.Lease{a.Lease}))
		if len(beats) != 1 || !beats[0].CancelRequested || beats[0].Lost {
			t.Errorf("beats %+v", beats)
		}
		b.finish(a, runs.Ending{Status: runs.Canceled})
		b.status(r.ID, runs.Canceled)

		r = b.submit(script())
		a = b.claim()
		must[*runs.Run](t)(b.Controller.Cancel(ctx, r.ID))
		if err := b.Worklist.Release(ctx, a.Lease); err != nil {
			t.Fatal(err)
		}
		b.status(r.ID, runs.Canceled)
	})
}

func TestReleaseGivesBackWhatNeverBegan(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(script())
		a := b.claim()
		if err := b.Worklist.Release(t.Context(), a.Lease); err != nil {
			t.Fatal(err)
		}
		b.status(r.ID, runs.Pending)
		again := b.claim()
		if again.Lease.Epoch <= a.Lease.Epoch {
			t.Errorf("epoch %d after %d", again.Lease.Epoch, a.Lease.Epoch)
		}
		if err := b.Worklist.Begin(t.Context(), a.Lease); !runs.LeaseLost.Is(err) {
			t.Errorf("the old lease: %v", err)
		}
		b.begin(again)
		if err := b.Worklist.Release(t.Context(), again.Lease); !runs.RunStateChanged.Is(err) {
			t.Errorf("a run that began: %v", err)
		}
	})
}

func TestIdempotencyKeys(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := script()
		s.Idempotency = &runs.Idempotency{Key: "k", Scope: "submit", Digest: [32]byte{1}}
		first := b.submit(s)
		again, replayed, err := b.Submitter.Submit(t.Context(), s)
		if err != nil || !replayed || again.ID != first.ID {
			t.Errorf("%v, %v, %v", again, replayed, err)
		}
		other := *s.Idempotency
		other.Digest = [32]byte{2}
		s.Idempotency = &other
		_, _, err = b.Submitter.Submit(t.Context(), s)
		if !runs.KeyReused.Is(err) {
			t.Errorf("another body: %v", err)
		}
		explained(t, err)
		ctx := actor.With(t.Context(), actor.Actor{Type: actor.User, ID: "usr_2"})
		if r, replayed, err := b.Submitter.Submit(ctx, s); err != nil || replayed || r.ID == first.ID {
			t.Errorf("another caller: %v, %v", replayed, err)
		}
	})
}

func TestRerunKeepsTheSettingsAndTheSecrets(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := script()
		s.Name, s.Labels, s.ExtraVars = "n", map[string]string{"k": "v"}, runs.Vars{"password": []byte(`"x"`)}
		first := b.submit(s)
		b.run(runs.Failed)
		r := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), first.ID))
		if r.ID == first.ID || r.Origin.RerunOf != first.ID || r.Origin.Source != runs.FromRerun ||
			r.Lineage != first.Lineage {
			t.Errorf("%+v", r.Origin)
		}
		if diff := cmp.Diff(first.Spec, r.Spec); diff != "" {
			t.Error(diff)
		}
		if a := b.claim(); string(a.Run.Vars["password"]) != `"x"` || a.Run.Labels["k"] != "v" {
			t.Errorf("%+v", a.Run)
		}
		c := must[*runs.Comparison](t)(b.Reader.Compare(t.Context(), r.ID, "prev"))
		if c.Baseline.ID != first.ID || c.ChangedFields != nil || string(c.Run.Vars["password"]) != `"[redacted]"` {
			t.Errorf("%+v", c)
		}
		if _, err := b.Reader.Compare(t.Context(), first.ID, "prev"); !runs.NoBaseline.Is(err) {
			t.Errorf("without a baseline: %v", err)
		}
	})
}

func TestTickets(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := actor.With(t.Context(), actor.Actor{Type: actor.User, ID: "usr_1", Token: "tok_1"})
		r, other := b.submit(script()), b.submit(script())
		ticket := must[string](t)(b.Tickets.Mint(ctx, r.ID))
		if who := must[runs.TicketOwner](t)(b.Tickets.Redeem(t.Context(), ticket,
			r.ID)); who != (runs.TicketOwner{Account: "usr_1", Token: "tok_1"}) {
			t.Errorf("minted by %+v", who)
		}
		leaked := must[string](t)(b.Tickets.Mint(ctx, r.ID))
		for _, c := range [][2]string{{ticket, r.ID}, {leaked, other.ID}, {leaked, r.ID}, {"", r.ID},
			{strings.Repeat("0", 64), r.ID}} {
			if _, err := b.Tickets.Redeem(ctx, c[0], c[1]); !runs.BadTicket.Is(err) {
				t.Errorf("%q: %v", c[0], err)
			}
		}
		if _, err := b.Tickets.Mint(ctx, "run_none"); !runs.RunNotFound.Is(err) {
			t.Errorf("unknown run: %v", err)
		}
	})
}

func TestTimesOfAWorkerWhoseClockIsAhead(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(script())
		a := b.claim()
		b.begin(a)
		ahead := r.CreatedAt.Add(time.Hour)
		b.finish(a, runs.Ending{Status: runs.Succeeded, StartedAt: ahead, EndedAt: ahead.Add(time.Second)})
		if got := b.get(r.ID); got.EndedAt.After(ahead) || got.Duration(got.EndedAt) != time.Second {
			t.Errorf("from %v to %v", got.StartedAt, got.EndedAt)
		}
	})
}
