package runstest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

func recordCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"every field survives":             everyField,
		"a bare record survives":           bareRecord,
		"an unknown run":                   unknownRun,
		"a step or shard exists once":      childOnce,
		"each setting by itself":           eachSetting,
		"children in order":                childrenInOrder,
		"lists leave documents out":        leanLists,
		"a unit that fails leaves nothing": rolledBack,
		"an amendment":                     amendment,
		"an amendment under a lease":       amendmentUnderLease,
		"counters follow":                  countersFollow,
		"a lock returns the run":           lockReturns,
	}
}

// eachSetting stores runs that set one member of the spec besides the tool and the queue, so that no member depends
// on another one.
func eachSetting(t *testing.T, e *env) {
	var full runs.Run
	fullRun(&full)
	full.Spec.TemplateID, full.Spec.Templated = "tpl_1", []string{"a"}
	from := reflect.ValueOf(full.Spec)
	for i := range from.NumField() {
		want := runs.Spec{Tool: "bash", Queue: runs.DefaultQueue}
		reflect.ValueOf(&want).Elem().Field(i).Set(from.Field(i))
		r := e.add(t, func(r *runs.Run) { r.Spec = want })
		if d := diff(want, e.get(t, r.ID).Spec); d != "" {
			t.Errorf("%s: %s", from.Type().Field(i).Name, d)
		}
	}
}

// fullRun sets every member of a record.
func fullRun(r *runs.Run) {
	r.Name, r.Kind, r.Status = "Nächtlicher \"Lauf\" 🚀 '; --", runs.Split, runs.Running
	r.Spec = runs.Spec{
		Tool: "ansible", Playbook: "site.yml", Command: "echo \\ ' \" ?\n\t$1", InventoryID: "inv_1", Inventory: "[all]\na",
		ProjectID: "prj_1",
		Controls: runs.Controls{Limit: "web:!db", Tags: []string{"x"}, SkipTags: []string{"y"}, Forks: 5, Verbosity: 3,
			DiffMode: true},
		DryRun: true, DryRunExecutes: true, Shards: 4, TimeoutSeconds: 90, Env: map[string]string{"A": "b", "LEER": ""},
		CredentialIDs: []string{"crd_1"},
		Queue:         "gpu", Priority: -7, Notifications: []runs.Notification{{Kind: "slack",
			URL: "https://x.example/?a=1&b=<2>", OnFailure: true}},
		RequireApproval: true, InventoryQuery: "os.family=Debian", LimitHosts: []string{"a", "b"},
		FailOn: []string{"warnings", "no_hosts"},
	}
	r.Labels, r.Change = map[string]string{"env": "prod", "leer": ""}, "CHG-1"
	r.Vars = runs.Vars{"n": raw("9007199254740993.00"), "h": raw(`"<b>&\u0000"`), "o": raw(`{"k":[1,null]}`)}
	r.Outputs = runs.Vars{"out": raw("1e400")}
	r.Origin = runs.Origin{Source: runs.FromRetry, SourceID: "tpl_1", RetryOf: "run_a", RerunOf: "run_b",
		Owner: "usr_8"}
	r.Actor = actor.Actor{Type: actor.Hook, ID: "usr_9", Name: "grace"}
	r.Commit, r.Error, r.ExitCode, r.ToolVersion = "abc123", "it broke", ptr(0), "2.19.11"
	r.Warnings = []runs.Warning{{Code: runs.WarnOutputFlood, Message: "much"}}
	r.AcceptedHostKeys = []runs.HostKey{{Host: "h1", Type: "ssh-rsa", Fingerprint: "SHA256:b"}}
	r.StartedAt, r.EndedAt = at(time.Minute), at(2*time.Minute)
	r.ShardCount, r.StepName, r.Attempt = 2, "s", 3
	r.Graph = &runs.Graph{
		Steps: []runs.StepState{{StepSpec: runs.StepSpec{Name: "s", DependsOn: []string{"t"}, FailOn: []string{},
			RequireApproval: true},
			Status: runs.Failed, RunID: "run_c", Attempt: 1}},
		Vars: runs.Vars{"g": raw("true")},
	}
	r.ShardHosts, r.Lineage = [][]string{{"a"}, {"b", "c"}}, "lin"
	r.Risk = runs.Risk{Level: runs.HighRisk, Reasons: []string{"it is much"}}
	r.Approvals = &runs.Approvals{
		Holds: []runs.Hold{{ID: "pol_1", Name: "prod", Message: "m", Needed: 2, Teams: []string{"team_1"}, Distinct: true}},
		Given: []runs.Approval{{By: actor.Actor{Type: actor.User, ID: "usr_2", Name: "bob"}, At: at(time.Second),
			Reason: "ok", Holds: []int{0}}},
		Refreshing: &runs.Refreshing{Since: at(time.Second), Due: at(time.Minute)},
		Preview:    &runs.PreviewOf{RunID: "run_p", Digest: "dd"},
	}
	r.Decision = &runs.Decision{By: actor.Actor{Type: actor.User, ID: "usr_2", Name: "bob"}, At: at(time.Second),
		Verdict: runs.Approved, Reason: "ok"}
	r.Worker, r.Epoch, r.Begun, r.LeaseExpiresAt, r.CancelRequested = "w", 4, true, at(time.Hour), true
	r.Canceled = &runs.Cancellation{By: actor.Actor{Type: actor.User, ID: "usr_3", Name: "cid"}, At: at(time.Minute)}
	r.Hosts, r.HostsTouched = runs.HostCounts{runs.HostFailed: 2, runs.HostOK: 1}, 3
	r.EventCount, r.LogBytes, r.LogOmitted, r.LogSHA256, r.Revision = 11, 12, 5, "feed", 6
	r.Hidden = runs.Hidden{Submitted: []string{"aa"}, Later: []string{"bb", "cc"}}
	r.Isolation = runs.Isolation{Level: "namespaces", Profile: "standard"}
	r.Objects = []string{"inv_1", "prj_1", "queue:gpu", "tpl_1"}
}

func everyField(t *testing.T, e *env) {
	r := e.add(t, fullRun)
	if r.Seq <= 0 {
		t.Fatalf("seq is %d", r.Seq)
	}
	if d := diff(r, e.get(t, r.ID)); d != "" {
		t.Errorf("what was stored differs (-want +got):\n%s", d)
	}
}

func bareRecord(t *testing.T, e *env) {
	r := e.add(t)
	if d := diff(r, e.get(t, r.ID)); d != "" {
		t.Errorf("what was stored differs (-want +got):\n%s", d)
	}
	if next := e.add(t); next.Seq <= r.Seq {
		t.Errorf("seq %d follows %d", next.Seq, r.Seq)
	}
}

func unknownRun(t *testing.T, e *env) {
	_, err := e.Runs.ByID(t.Context(), "run_none")
	wantFault(t, err, runs.RunNotFound)
	wantFault(t, e.do(t, func(ctx context.Context) error {
		_, err := e.Runs.Lock(ctx, "run_none")
		return err
	}), runs.RunNotFound)
	wantFault(t, e.do(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, "run_none", runs.Amendment{CancelRequested: ptr(true)})
	}), runs.RunNotFound)
	_, err = e.move(t, runs.Move{ID: "run_none", From: runs.Pending, To: runs.Canceled, At: epoch})
	wantFault(t, err, runs.RunNotFound)
}

func childOnce(t *testing.T, e *env) {
	p, other := e.add(t, asSplit), e.add(t, asSplit)
	e.add(t, childOf(p, runs.Shard, 0))
	e.add(t, childOf(p, runs.Shard, 1))
	e.add(t, childOf(other, runs.Shard, 0))
	e.add(t, childOf(p, runs.Step, 0))
	e.add(t, childOf(p, runs.Step, 1))
	for _, again := range []func(*runs.Run){
		childOf(p, runs.Shard, 0), childOf(p, runs.Step, 0), childOf(p, runs.Step, 1),
	} {
		r := e.bare(again)
		wantFault(t, e.do(t, func(ctx context.Context) error { return e.Runs.Insert(ctx, r) }), runs.RunStateChanged)
	}
}

func childrenInOrder(t *testing.T, e *env) {
	p := e.add(t, asSplit)
	var want []string
	late := e.add(t, childOf(p, runs.Shard, 1), func(r *runs.Run) {
		r.Vars = runs.Vars{"v": raw("1")}
		r.Spec.LimitHosts = []string{"b"}
	})
	early := e.add(t, childOf(p, runs.Shard, 0))
	want = append(want, early.ID, late.ID)
	list, err := e.Runs.Children(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(want, ids(list)); d != "" {
		t.Errorf("children (-want +got):\n%s", d)
	}
	if list[1].Vars != nil || len(list[1].Spec.LimitHosts) != 1 {
		t.Errorf("a child has vars %v and hosts %v", list[1].Vars, list[1].Spec.LimitHosts)
	}
}

func ids(list []*runs.Run) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.ID
	}
	return out
}

func leanLists(t *testing.T, e *env) {
	want := e.add(t, fullRun)
	list, err := e.Runs.List(t.Context(), runs.Filter{Limit: 10, Scope: access.Everything()})
	if err != nil || len(list.Runs) != 1 {
		t.Fatalf("list: %v, %v", list, err)
	}
	want.Vars, want.Outputs, want.Graph, want.Spec.Env, want.Objects = nil, nil, nil, nil, nil
	want.AcceptedHostKeys = nil
	got := list.Runs[0]
	want.ShardHosts, want.Spec.LimitHosts = got.ShardHosts, got.Spec.LimitHosts // lists may leave them out
	if d := diff(want, got); d != "" {
		t.Errorf("what the list shows differs (-want +got):\n%s", d)
	}
}

func rolledBack(t *testing.T, e *env) {
	r := e.bare()
	failure := errors.New("no")
	err := e.do(t, func(ctx context.Context) error {
		if err := e.Runs.Insert(ctx, r); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Fatalf("the unit's error is %v", err)
	}
	_, err = e.Runs.ByID(t.Context(), r.ID)
	wantFault(t, err, runs.RunNotFound)
	if got := e.counts(t); len(got) != 0 {
		t.Errorf("counters are %v", got)
	}
}

func amendment(t *testing.T, e *env) {
	r := e.add(t, func(r *runs.Run) { r.Warnings = []runs.Warning{{Code: "a", Message: "1"}} })
	graph := &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{Name: "one"}}}}
	e.must(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, r.ID, runs.Amendment{
			CancelRequested: ptr(true), Graph: graph, Warnings: []runs.Warning{{Code: "b", Message: "2"}}, ShardCount: ptr(3),
		})
	})
	want := *r
	want.CancelRequested, want.Graph, want.ShardCount, want.Revision = true, graph, 3, r.Revision+1
	want.Warnings = []runs.Warning{{Code: "a", Message: "1"}, {Code: "b", Message: "2"}}
	if d := diff(&want, e.get(t, r.ID)); d != "" {
		t.Errorf("the amended record (-want +got):\n%s", d)
	}
	for i, name := range []string{"ann", "bob"} { // the first request stays
		by := &runs.Cancellation{By: actor.Actor{Type: actor.User, Name: name}, At: at(time.Minute)}
		e.must(t, func(ctx context.Context) error { return e.Runs.Amend(ctx, r.ID, runs.Amendment{Canceled: by}) })
		if want.Revision++; i == 0 {
			want.Canceled = by
		}
	}
	if d := diff(&want, e.get(t, r.ID)); d != "" {
		t.Errorf("the canceled record (-want +got):\n%s", d)
	}
}

func amendmentUnderLease(t *testing.T, e *env) {
	a := e.running(t)
	stale := a.Lease
	stale.Epoch++
	wantFault(t, e.do(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, a.Run.ID, runs.Amendment{ShardCount: ptr(9), Lease: &stale})
	}), runs.LeaseLost)
	e.must(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, a.Run.ID, runs.Amendment{ShardCount: ptr(2), Lease: &a.Lease, DropLease: true})
	})
	got := e.get(t, a.Run.ID)
	if got.Status != runs.Running || got.Worker != "" || !got.LeaseExpiresAt.IsZero() || got.ShardCount != 2 {
		t.Errorf("after the lease was dropped: %+v", got)
	}
	wantFault(t, e.do(t, func(ctx context.Context) error { return e.begin(ctx, a.Lease, epoch) }), runs.LeaseLost)
}

func countersFollow(t *testing.T, e *env) {
	p := e.add(t, asSplit)
	e.add(t, childOf(p, runs.Shard, 0))
	e.add(t, childOf(p, runs.Shard, 1))
	first := e.add(t, func(r *runs.Run) { r.Spec.Queue = "gpu" })
	e.add(t, func(r *runs.Run) { r.Spec.Queue, r.Status = "gpu", runs.PendingApproval })
	want := map[string][2]int64{"pending/default": {3, 1}, "pending/gpu": {1, 1}, "pending_approval/gpu": {1, 1}}
	if d := diff(want, e.counts(t)); d != "" {
		t.Errorf("counters (-want +got):\n%s", d)
	}
	if _, err := e.move(t, runs.Move{ID: first.ID, From: runs.Pending, To: runs.Canceled, At: epoch}); err != nil {
		t.Fatal(err)
	}
	e.claim(t, "w", ttl) // a shard, and its parent starts
	want = map[string][2]int64{"pending/default": {1, 0}, "running/default": {2, 1}, "canceled/gpu": {1, 1},
		"pending_approval/gpu": {1, 1}}
	if d := diff(want, e.counts(t)); d != "" {
		t.Errorf("counters (-want +got):\n%s", d)
	}
	list, err := e.Runs.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if waits := c.Status == runs.Pending && c.Runs > 0; waits && !c.Oldest.Equal(at(3*time.Second)) ||
			!waits && !c.Oldest.IsZero() {
			t.Errorf("oldest of %s/%s is %s", c.Status, c.Queue, c.Oldest)
		}
	}
}

func lockReturns(t *testing.T, e *env) {
	r := e.add(t, fullRun)
	e.must(t, func(ctx context.Context) error {
		got, err := e.Runs.Lock(ctx, r.ID)
		if err == nil && diff(r, got) != "" {
			t.Errorf("the locked run (-want +got):\n%s", diff(r, got))
		}
		return err
	})
}
