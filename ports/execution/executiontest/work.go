package executiontest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

func claims(t *testing.T, f Fixture) {
	id := f.Submit(t, runs.Single, "q")
	for _, queue := range []string{"other", "q", "q"} {
		a, err := f.Plane.Claim(t.Context(), runs.ClaimRequest{Worker: "w1", Queues: []string{queue}})
		must(t, err)
		switch {
		case a == nil:
		case queue == "other" || a.Lease.RunID != id || a.Run.ID != id || a.Lease.Worker != "w1" || a.Lease.Epoch < 1 ||
			a.NextSeq < 1:
			t.Fatalf("claimed %+v of %s", a, queue)
		default:
			id = "nobody claims it again"
		}
	}
	if id != "nobody claims it again" {
		t.Fatal("the run was not claimed")
	}
}

func race(t *testing.T, f Fixture) {
	const all = 20
	for range all {
		f.Submit(t, runs.Single, "q")
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := make(map[string]int)
	for range 100 {
		wg.Go(func() {
			a, err := f.Plane.Claim(t.Context(), runs.ClaimRequest{Worker: "w1", Queues: []string{"q"}})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if a != nil {
				seen[a.Lease.RunID]++
			}
		})
	}
	wg.Wait()
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
	if len(seen) != all {
		t.Errorf("%d of %d runs were claimed", len(seen), all)
	}
}

func release(t *testing.T, f Fixture) {
	id := f.Submit(t, runs.Single, "q")
	first := claim(t, f, "w1", "q")
	must(t, f.Plane.Release(t.Context(), first.Lease))
	status(t, f, id, runs.Pending)
	second := claim(t, f, "w2", "q")
	if second.Lease.Epoch <= first.Lease.Epoch {
		t.Fatalf("epoch %d follows %d", second.Lease.Epoch, first.Lease.Epoch)
	}
	refused(t, "begin", f.Plane.Begin(t.Context(), first.Lease))
	must(t, f.Plane.Begin(t.Context(), second.Lease))
	must(t, f.Plane.Begin(t.Context(), second.Lease))
	if err := f.Plane.Release(t.Context(), second.Lease); err == nil {
		t.Fatal("a run that began was handed back")
	}
	status(t, f, id, runs.Running)
}

func lost(t *testing.T, f Fixture) {
	a := begun(t, f)
	f.Expire(t, a.Lease.RunID)
	status(t, f, a.Lease.RunID, runs.Interrupted)
	ctx, l := t.Context(), a.Lease
	refused(t, "begin", f.Plane.Begin(ctx, l))
	refused(t, "release", f.Plane.Release(ctx, l))
	refused(t, "finish", f.Plane.Finish(ctx, l, runs.Ending{Status: runs.Succeeded}))
	_, err := f.Plane.AppendLog(ctx, l, runs.LogChunk{Data: []byte("late")})
	refused(t, "a log", err)
	_, err = f.Plane.AppendEvents(ctx, l, []runs.Event{{Seq: a.NextSeq, Type: runs.EventWarning}})
	refused(t, "an event", err)
	refused(t, "hosts", f.Plane.SaveHosts(ctx, l, []runs.HostSummary{{Host: "h", Worst: runs.HostOK}}))
	refused(t, "tasks", f.Plane.SaveTasks(ctx, l, []runs.TaskSummary{{Task: "t"}}))
	refused(t, "facts", f.Plane.SaveFacts(ctx, l,
		[]runs.HostFacts{{Host: "h", GatheredAt: time.Unix(1e9, 0), Facts: []byte("{}")}}))
	status(t, f, l.RunID, runs.Interrupted)
	if len(f.Log(t, l.RunID))+len(f.Events(t, l.RunID)) != 0 {
		t.Fatal("a lost lease wrote")
	}
}

func endUnbegun(t *testing.T, f Fixture) {
	for _, kind := range []runs.Kind{runs.Single, runs.Split} {
		id := f.Submit(t, kind, "q")
		a := claim(t, f, "w1", "q")
		must(t, f.Plane.Finish(t.Context(), a.Lease, runs.Ending{Status: runs.Failed, Error: "no such tool"}))
		status(t, f, id, runs.Failed)
	}
}

// sha256OfHi is the digest of the line "hi".
const sha256OfHi = "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"

func finishTwice(t *testing.T, f Fixture) {
	a := begun(t, f)
	code := 0
	end := runs.Ending{Status: runs.Succeeded, ExitCode: &code, Log: runs.LogChunk{Data: []byte("hi\n")}, LogBytes: 3,
		LogSHA256: sha256OfHi, ToolVersion: "2.22.0b2",
		Events:  []runs.Event{{Seq: a.NextSeq, Type: runs.EventWarning, Message: "m"}},
		Outputs: runs.Vars{"o": []byte("1")},
		AcceptedHostKeys: []runs.HostKey{{Host: "[h1]:2222", Type: "ssh-ed25519",
			Fingerprint: "SHA256:Xk3LmE0HnPz8kW2u0a9FqR7tYcV5bN1sJdG4hZ6oT8w"}}}
	must(t, f.Plane.Finish(t.Context(), a.Lease, end))
	must(t, f.Plane.Finish(t.Context(), a.Lease, end))
	r := f.Run(t, a.Lease.RunID)
	if r.Status != runs.Succeeded || r.LogBytes != 3 || r.LogSHA256 != sha256OfHi || r.ExitCode == nil ||
		*r.ExitCode != 0 || string(r.Outputs["o"]) != "1" || r.ToolVersion != end.ToolVersion ||
		!slices.Equal(r.AcceptedHostKeys, end.AcceptedHostKeys) {
		t.Fatalf("the record is %+v", r)
	}
	if log, events := f.Log(t, r.ID), f.Events(t, r.ID); string(log) != "hi\n" || len(events) != 1 ||
		events[0].Message != "m" {
		t.Fatalf("the log is %q, the events are %+v", log, events)
	}
}

func beats(t *testing.T, f Fixture) {
	kept, gone := begun(t, f), begun(t, f)
	f.Expire(t, gone.Lease.RunID)
	got, err := f.Plane.Beat(t.Context(), "w1", []runs.Lease{kept.Lease, gone.Lease})
	must(t, err)
	lost := make(map[string]bool)
	for _, b := range got {
		lost[b.RunID] = b.Lost
	}
	if len(got) != 2 || lost[kept.Lease.RunID] || !lost[gone.Lease.RunID] {
		t.Fatalf("the beat says %+v", got)
	}
}

func held(t *testing.T, f Fixture) {
	a := begun(t, f)
	f.Submit(t, runs.Single, "q")
	b := claim(t, f, "w1", "q")
	f.Submit(t, runs.Single, "q")
	claim(t, f, "w2", "q")
	list, err := f.Plane.Leased(t.Context(), "w1")
	must(t, err)
	got := make(map[string]*runs.Run)
	for _, r := range list {
		got[r.ID] = r
	}
	x, y := got[a.Lease.RunID], got[b.Lease.RunID]
	if len(list) != 2 || x == nil || y == nil || !x.Begun || y.Begun || x.Epoch != a.Lease.Epoch {
		t.Fatalf("held are %+v", list)
	}
}

func divide(t *testing.T, f Fixture) {
	id := f.Submit(t, runs.Split, "q")
	a := claim(t, f, "w1", "q")
	must(t, f.Plane.Divide(t.Context(), a.Lease, []string{"a", "b"},
		[]runs.Warning{{Code: runs.WarnShardSemantics, Message: "m"}}))
	refused(t, "begin", f.Plane.Begin(t.Context(), a.Lease))
	r := f.Run(t, id)
	if r.Status.Terminal() || !runs.HasWarning(r.Warnings, runs.WarnShardSemantics) {
		t.Fatalf("the split is %+v", r)
	}
}
