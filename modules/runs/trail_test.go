package runs_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func ann(ctx context.Context) context.Context {
	return actor.With(ctx, actor.Actor{Type: actor.User, ID: "usr_ann", Name: "ann"})
}

// happened compares the actions that the trail has about a run, in order.
func (b *bundle) happened(id string, want ...audit.Action) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.trail.actions(id)); diff != "" {
		b.t.Errorf("entries about %s:\n%s", id, diff)
	}
}

func TestARequestHasOneEntry(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := ann(t.Context())
		s := script()
		s.Name, s.DryRun, s.ExtraVars, s.Idempotency = "nightly", true, runs.Vars{"token": []byte(`"hush"`)},
			&runs.Idempotency{Key: "k", Scope: "submit"}
		r, _, err := b.Submitter.Submit(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		if _, replayed, err := b.Submitter.Submit(ctx, s); err != nil || !replayed {
			t.Errorf("the replay: %v, %v", replayed, err)
		}
		e := b.trail.of(r.ID)[0]
		inputs := must[*runs.RunDigest](t)(b.Digests.Digest(ctx, r.ID)).Inputs
		want := audit.Entry{
			Action: audit.RunSubmit, Object: audit.Object{Kind: "run", ID: r.ID, Name: "nightly"}, Run: r.ID,
			By: &actor.Actor{Type: actor.User, ID: "usr_ann", Name: "ann"},
			Detail: map[string]any{"kind": "single", "tool": "bash",
				"queue": "default", "source": "api", "dry_run": true, "inputs": inputs},
		}
		if diff := cmp.Diff(want, e); diff != "" || !strings.HasPrefix(inputs, "sha256:") {
			t.Error(diff)
		}
		before := b.trail.size()
		for _, bad := range []func() error{
			func() error {
				_, _, err := b.Submitter.Submit(ctx, runs.Submission{Spec: runs.Spec{Tool: "bash"}})
				return err
			},
			func() error { _, err := b.Controller.Retry(ctx, r.ID); return err },
			func() error { _, err := b.Controller.RelaunchFailed(ctx, r.ID); return err },
			func() error { _, err := b.Controller.Rerun(ctx, "run_none"); return err },
			func() error { _, err := b.Controller.Cancel(ctx, "run_none"); return err },
			func() error {
				_, err := b.Approver.Approve(admin(ctx), r.ID, runs.DecisionInput{Reason: ""})
				return err
			},
			func() error {
				_, err := b.Approver.Reject(admin(ctx), r.ID, runs.DecisionInput{Reason: "\x00"})
				return err
			},
			func() error {
				other := s
				other.Idempotency = &runs.Idempotency{Key: "k", Scope: "submit", Digest: [32]byte{1}}
				_, _, err := b.Submitter.Submit(ctx, other)
				return err
			},
		} {
			if err := bad(); err == nil {
				t.Error("a bad request was taken")
			}
		}
		if b.trail.size() != before {
			t.Errorf("refused requests have entries: %+v", b.trail.since(before))
		}
		again := must[*runs.Run](t)(b.Controller.Rerun(ctx, r.ID))
		b.happened(again.ID, audit.RunRerun)
		if d := b.trail.of(again.ID)[0].Detail; d["rerun_of"] != r.ID || d["inputs"] != inputs || d["source"] != "rerun" {
			t.Errorf("%v", d)
		}
	})
}

func TestDecisionsAndCancelsAreRecorded(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := ann(t.Context())
		held := script()
		held.RequireApproval = true
		r := b.submit(held)
		b.happened(r.ID, audit.RunSubmit, audit.RunHold)
		must[*runs.Run](t)(b.Approver.Approve(admin(ctx), r.ID, runs.DecisionInput{Reason: "looks fine"}))
		e := b.trail.of(r.ID)[2]
		if e.Action != audit.RunApprove || e.Text != "looks fine" || e.By.ID != "usr_ann" ||
			e.Detail["status"] != "pending_approval" {
			t.Errorf("%+v", e)
		}
		a := b.run(runs.Succeeded)
		b.happened(r.ID, audit.RunSubmit, audit.RunHold, audit.RunApprove, audit.RunStart, audit.RunFinal)
		all := b.trail.of(r.ID)
		for _, e := range all[3:] {
			if diff := cmp.Diff(&actor.Actor{Type: actor.Worker, ID: a.Lease.Worker}, e.By); diff != "" {
				t.Errorf("%s by: %s", e.Action, diff)
			}
		}
		if diff := cmp.Diff([]any{"usr_ann"}, all[4].Detail["approvers"]); diff != "" || !all[4].Final {
			t.Errorf("final %v: %s", all[4].Final, diff)
		}

		r = b.submit(held)
		must[*runs.Run](t)(b.Approver.Reject(admin(ctx), r.ID, runs.DecisionInput{Reason: "no"}))
		b.happened(r.ID, audit.RunSubmit, audit.RunHold, audit.RunReject, audit.RunFinal)
		if e := b.trail.of(r.ID); e[2].Text != "no" || e[3].By.ID != "usr_ann" || e[3].Detail["status"] != "rejected" ||
			e[3].Detail["approvers"] != nil {
			t.Errorf("%+v", e)
		}
		r = b.submit(script())
		must[*runs.Run](t)(b.Controller.Cancel(ctx, r.ID))
		if _, err := b.Controller.Cancel(ctx, r.ID); !runs.RunNotCancelable.Is(err) {
			t.Error(err)
		}
		b.happened(r.ID, audit.RunSubmit, audit.RunCancel, audit.RunFinal)
		if e := b.trail.of(r.ID); e[1].Detail["status"] != "pending" || e[2].By.ID != "usr_ann" {
			t.Errorf("%+v", e)
		}
		r = b.submit(script())
		a = b.claim()
		b.begin(a)
		b.begin(a) // the answer was lost
		for range 2 {
			must[*runs.Run](t)(b.Controller.Cancel(ctx, r.ID))
		}
		b.finish(a, runs.Ending{Status: runs.Canceled})
		b.finish(a, runs.Ending{Status: runs.Canceled})
		b.happened(r.ID, audit.RunSubmit, audit.RunStart, audit.RunCancel, audit.RunCancel, audit.RunFinal)
	})
}

// ends has every way in which a run can end, each with the runs that it ends.
func ends() map[string]func(b *bundle) []string {
	claimed := func(b *bundle, begun bool) *runs.Assignment {
		b.submit(script())
		a := b.claim()
		if begun {
			b.begin(a)
		}
		return a
	}
	return map[string]func(b *bundle) []string{
		"succeeded":   func(b *bundle) []string { b.submit(script()); return []string{b.run(runs.Succeeded).Run.ID} },
		"failed":      func(b *bundle) []string { b.submit(script()); return []string{b.run(runs.Failed).Run.ID} },
		"interrupted": func(b *bundle) []string { b.submit(script()); return []string{b.run(runs.Interrupted).Run.ID} },
		"never begun": func(b *bundle) []string {
			a := claimed(b, false)
			b.finish(a, runs.Ending{Status: runs.Failed, Error: "no such file"})
			return []string{a.Run.ID}
		},
		"canceled before it began": func(b *bundle) []string {
			a := claimed(b, false)
			must[*runs.Run](b.t)(b.Controller.Cancel(b.t.Context(), a.Run.ID))
			if err := b.Worklist.Release(b.t.Context(), a.Lease); err != nil {
				b.t.Error(err)
			}
			return []string{a.Run.ID}
		},
		"swept": func(b *bundle) []string {
			b.submit(script())
			a := b.claimBriefly()
			b.begin(a)
			b.Background.Start()
			b.eventually("the run ends", func() bool { return b.get(a.Run.ID).Status == runs.Interrupted })
			if err := b.Background.Stop(b.t.Context()); err != nil {
				b.t.Error(err)
			}
			return []string{a.Run.ID}
		},
		"split": func(b *bundle) []string {
			r := b.divided(2, "a", "b")
			one, two := b.claim(), b.claim()
			b.endShard(one, runs.Succeeded, runs.HostOK)
			b.endShard(two, runs.Failed, runs.HostFailed)
			return []string{one.Run.ID, two.Run.ID, r.ID}
		},
		"split without hosts": func(b *bundle) []string {
			r := b.submit(splitOf(2))
			if err := b.Worklist.Divide(b.t.Context(), b.claim().Lease, nil, nil); err != nil {
				b.t.Error(err)
			}
			return []string{r.ID}
		},
		"split canceled": func(b *bundle) []string {
			r := b.divided(2, "a", "b")
			must[*runs.Run](b.t)(b.Controller.Cancel(b.t.Context(), r.ID))
			out := []string{r.ID}
			for _, k := range b.children(r.ID) {
				out = append(out, k.ID)
			}
			return out
		},
		"pipeline": func(b *bundle) []string {
			soft := stage("a")
			soft.Retries = 1
			p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{soft, stage("b", "a")}})
			return []string{b.run(runs.Failed).Run.ID, b.run(runs.Failed).Run.ID, p.ID} // b is skipped and has no run
		},
		"pipeline held and canceled": func(b *bundle) []string {
			p := b.pipeline(runs.PipelineSubmission{RequireApproval: true, Steps: []runs.StepSpec{stage("a")}})
			must[*runs.Run](b.t)(b.Controller.Cancel(b.t.Context(), p.ID))
			return []string{p.ID}
		},
	}
}

func TestEveryEndIsRecordedOnce(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		b := setup(t, d, module.Config{SweepEvery: 5e6})
		for name, end := range ends() {
			ended := end(b)
			for _, id := range ended {
				r := b.get(id)
				starts := 0
				if r.Begun {
					starts = 1
				}
				if !r.Status.Terminal() || b.trail.count(id, audit.RunFinal) != 1 || b.trail.count(id, audit.RunStart) != starts {
					t.Errorf("%s: %s %s (begun %v) has %v", name, r.Kind, r.Status, r.Begun, b.trail.actions(id))
				}
				all := b.trail.of(id)
				last := all[len(all)-1]
				top := id
				if r.ParentID != "" {
					top = r.ParentID
				}
				if last.Action != audit.RunFinal || last.Run != top || !last.Final || last.Detail["status"] != string(r.Status) {
					t.Errorf("%s: the last entry of %s is %+v", name, r.Kind, last)
				}
				if r.Kind.Parent() && name != "split without hosts" && last.By.Type != actor.System {
					t.Errorf("%s: rolled up by %+v", name, last.By)
				}
				if diff := cmp.Diff(must[*runs.RunDigest](t)(b.Digests.Digest(t.Context(), id)).Document(),
					last.Detail); diff != "" {
					t.Errorf("%s: the digest of %s is not that of what is stored:\n%s", name, r.Kind, diff)
				}
			}
		}
	})
}

func TestRetryAndRelaunchHaveEntries(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.divided(2, "a", "b")
		for range 2 {
			b.endShard(b.claim(), runs.Failed, runs.HostFailed)
		}
		ctx := ann(t.Context())
		again := must[*runs.Run](t)(b.Controller.Retry(ctx, r.ID))
		b.happened(again.ID, audit.RunRetry)
		d := b.trail.of(again.ID)[0].Detail
		if d["retry_of"] != r.ID || d["shards"] != int64(2) ||
			d["inputs"] != must[*runs.RunDigest](t)(b.Digests.Digest(ctx, again.ID)).Inputs {
			t.Errorf("%v", d)
		}
		one := must[*runs.Run](t)(b.Controller.RelaunchFailed(ctx, r.ID))
		b.happened(one.ID, audit.RunRelaunch)
		if d := b.trail.of(one.ID)[0].Detail; d["retry_of"] != r.ID ||
			d["inputs"] != must[*runs.RunDigest](t)(b.Digests.Digest(ctx, one.ID)).Inputs {
			t.Errorf("%v", d)
		}
		p := b.pipeline(runs.PipelineSubmission{Name: "p",
			ExtraVars: runs.Vars{"a_secret": []byte(`"x"`), "n": []byte(`1.0`)}, Steps: []runs.StepSpec{stage("a"), stage("b")}})
		b.happened(p.ID, audit.RunSubmit)
		if d := b.trail.of(p.ID)[0].Detail; d["steps"] != int64(2) || d["kind"] != "pipeline" ||
			d["inputs"] != must[*runs.RunDigest](t)(b.Digests.Digest(ctx, p.ID)).Inputs {
			t.Errorf("%v", d)
		}
	})
}

func TestWithoutAnEntryNothingHappens(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		held := script()
		held.RequireApproval = true
		waiting, r := b.submit(held), b.submit(script())
		a := b.claim()
		split := b.divided(2, "a", "b")
		b.trail.Fail(nil, audit.Unrecorded.New("no entry can be made"))
		keyed := script()
		keyed.Idempotency = &runs.Idempotency{Key: "k", Scope: "s"}
		total := must[*runs.List](t)(b.Reader.List(ctx, runs.Filter{})).Total
		for name, call := range map[string]func() error{
			"submit": func() error { _, _, err := b.Submitter.Submit(ctx, keyed); return err },
			"pipeline": func() error {
				_, _, err := b.Submitter.SubmitPipeline(ctx, runs.PipelineSubmission{Steps: []runs.StepSpec{stage("a")}})
				return err
			},
			"rerun": func() error { _, err := b.Controller.Rerun(ctx, r.ID); return err },
			"approve": func() error {
				_, err := b.Approver.Approve(admin(ctx), waiting.ID, runs.DecisionInput{})
				return err
			},
			"reject": func() error {
				_, err := b.Approver.Reject(admin(ctx), waiting.ID, runs.DecisionInput{})
				return err
			},
			"cancel":        func() error { _, err := b.Controller.Cancel(ctx, waiting.ID); return err },
			"cancel a tree": func() error { _, err := b.Controller.Cancel(ctx, split.ID); return err },
			"begin":         func() error { return b.Worklist.Begin(ctx, a.Lease) },
		} {
			if err := call(); !fault.Is(err, fault.Unavailable) || !audit.Unrecorded.Is(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := must[*runs.List](t)(b.Reader.List(ctx, runs.Filter{})).Total; n != total ||
			b.get(waiting.ID).Status != runs.PendingApproval ||
			b.get(split.ID).CancelRequested || b.get(r.ID).Begun {
			t.Errorf("%d runs were %d; something was done", n, total)
		}
		b.trail.Fail(nil, nil)
		if _, replayed, err := b.Submitter.Submit(ctx, keyed); err != nil || replayed {
			t.Errorf("the key was used up: %v, %v", replayed, err)
		}
		b.begin(a)
		b.trail.Fail(nil, audit.Unrecorded.New("no entry can be made"))
		e := runs.Ending{Status: runs.Succeeded, Log: runs.LogChunk{Data: []byte("ok\n")}, LogBytes: 3,
			Events: []runs.Event{{Seq: a.NextSeq, Type: runs.EventWarning}},
			Hosts:  []runs.HostSummary{{Host: "h", OK: 1, Worst: runs.HostOK}}, Touched: 1}
		for range 2 {
			if err := b.Worklist.Finish(ctx, a.Lease, e); !audit.Unrecorded.Is(err) {
				t.Errorf("an end without an entry: %v", err)
			}
		}
		if got := b.status(r.ID, runs.Running); got.LogBytes != 0 || got.EventCount != 1 {
			t.Errorf("%d bytes, %d events", got.LogBytes, got.EventCount)
		}
		b.trail.Fail(nil, nil)
		b.finish(a, e)
		if log, _ := b.log(r.ID, runs.LogRange{}); log != "ok\n" || b.status(r.ID, runs.Succeeded).EventCount != 3 {
			t.Errorf("log %q", log)
		}
		b.happened(r.ID, audit.RunSubmit, audit.RunStart, audit.RunFinal)
	})
}

func TestNewNeedsARecorder(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.Open(t, db.SQLite, migrations.FS), module.Config{})
	p := module.Params{Targets: masking{}, Guard: openGate{}, Objects: b.store, Unit: b.d, Clock: clock.New(),
		IDs: ids.New(clock.New())}
	if _, err := module.New(p); err == nil {
		t.Error("it was made without one")
	}
}
