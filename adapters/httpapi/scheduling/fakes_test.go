package scheduling_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secret"
)

const (
	hookToken = "h00kT0kenh00kT0kenh00kT0ken"
	signing   = "s1gningS3crets1gningS3cret"
)

var (
	past = time.Date(2026, 1, 5, 8, 30, 0, 123456000, time.UTC)
	next = time.Date(2026, 1, 6, 2, 30, 0, 0, time.UTC)
)

// fakeModule fakes the scheduling module. It has one object of each kind, all with the id "known", and records its
// last call.
type fakeModule struct {
	mu       sync.Mutex
	err      error // the error of every call, if set
	asked    []any
	request  actor.Request
	actor    actor.Actor
	target   scheduling.Target // of the known schedule
	plan     scheduling.Preview
	answered scheduling.Delivered
	// moved is how many more times another change comes between the read and the change of the known object.
	moved    int
	revision int64
}

func newFakeModule() *fakeModule {
	return &fakeModule{
		target: scheduling.Target{TemplateID: "tpl_1",
			Answers: map[string]any{"n": json.Number("9007199254740993"), "on": true, "db_password": "hunter22"}},
		plan: scheduling.Preview{Cron: "30 2 * * *"}, answered: scheduling.Delivered{RunID: "run_1", Done: true}, revision: 3,
	}
}

func (s *fakeModule) ask(ctx context.Context, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.actor, s.request = args, actor.From(ctx), actor.RequestOf(ctx)
	return s.err
}

func (s *fakeModule) find(ctx context.Context, code fault.Code, id string, args ...any) error {
	if err := s.ask(ctx, append([]any{id}, args...)...); err != nil {
		return err
	}
	if id != "known" {
		return code.New("no object %q", id)
	}
	return nil
}

func (s *fakeModule) answer(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeModule) record(name string) scheduling.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return scheduling.Record{Record: object.Record{ID: "known", Name: name, Org: "org_1", CreatedBy: "usr_admin",
		CreatedAt: past, UpdatedAt: past,
		Revision: s.revision}, Owner: "usr_owner"}
}

// revised checks a change's revision, and simulates other changes while moved is positive.
func (s *fakeModule) revised(ctx context.Context, code fault.Code, id string, revision int64, args ...any) error {
	if err := s.find(ctx, code, id, append([]any{revision}, args...)...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moved > 0 {
		s.moved--
		s.revision++
	}
	if revision != 0 && revision != s.revision {
		return scheduling.RevisionChanged.New("the object changed")
	}
	return nil
}

type schedules struct{ *fakeModule }

func (f schedules) schedule() scheduling.Schedule {
	return scheduling.Schedule{
		Record: f.record("nightly"), Cron: "30 2 * * *", Timezone: "Europe/Berlin", Enabled: true,
		Overlap: scheduling.OverlapAllow, Target: f.target,
		NextRunAt: next, LastRunAt: past, LastRunID: "run_1", LastError: "refused",
	}
}

func (f schedules) Create(ctx context.Context, s scheduling.Schedule) (scheduling.Schedule, error) {
	return f.schedule(), f.ask(ctx, s)
}

func (f schedules) Get(ctx context.Context, id string) (scheduling.Schedule, error) {
	return f.schedule(), f.find(ctx, scheduling.ScheduleNotFound, id)
}

func (f schedules) List(ctx context.Context, q scheduling.Filter, w page.Window) ([]scheduling.Schedule, int, error) {
	return []scheduling.Schedule{f.schedule()}, 7, f.ask(ctx, q, w)
}

func (f schedules) Update(
	ctx context.Context, id string, revision int64, s scheduling.Schedule,
) (scheduling.Schedule, error) {
	return f.schedule(), f.revised(ctx, scheduling.ScheduleNotFound, id, revision, s)
}

func (f schedules) Compare(ctx context.Context, id string, s scheduling.Schedule) ([]string, error) {
	return []string{"run"}, f.find(ctx, scheduling.ScheduleNotFound, id, s)
}

func (f schedules) Delete(ctx context.Context, id string, revision int64) error {
	return f.revised(ctx, scheduling.ScheduleNotFound, id, revision, "deleted")
}

type planner struct{ *fakeModule }

func (f planner) Preview(cron, timezone string, count int) (scheduling.Preview, error) {
	err := f.ask(context.Background(), cron, timezone, count)
	if err == nil && cron == "bad" {
		err = fault.BadField("cron", "has 1 field where five are needed")
	}
	return f.plan, err
}

type triggers struct{ *fakeModule }

func (f triggers) trigger() scheduling.Trigger {
	return scheduling.Trigger{
		Record: f.record("push"), TemplateID: "tpl_1", RequireSignature: true, Branch: "main", Events: []string{"push"},
		LastFiredAt: past, LastRunID: "run_1", LastError: "refused",
	}
}

func (f triggers) Create(ctx context.Context, t scheduling.Trigger) (scheduling.NewTrigger, error) {
	made := f.trigger()
	made.LastFiredAt, made.LastRunID, made.LastError, made.Events = time.Time{}, "", "", nil
	return scheduling.NewTrigger{Trigger: made, Token: secret.Text(hookToken), SigningSecret: secret.Text(signing)},
		f.ask(ctx, t)
}

func (f triggers) Get(ctx context.Context, id string) (scheduling.Trigger, error) {
	return f.trigger(), f.find(ctx, scheduling.TriggerNotFound, id)
}

func (f triggers) List(ctx context.Context, q scheduling.Filter, w page.Window) ([]scheduling.Trigger, int, error) {
	return []scheduling.Trigger{f.trigger()}, 7, f.ask(ctx, q, w)
}

func (f triggers) Update(
	ctx context.Context, id string, revision int64, t scheduling.Trigger,
) (scheduling.Trigger, error) {
	return f.trigger(), f.revised(ctx, scheduling.TriggerNotFound, id, revision, t)
}

// Rotate also returns a token, which no answer may contain.
func (f triggers) Rotate(ctx context.Context, id string) (scheduling.NewTrigger, error) {
	t := scheduling.NewTrigger{Trigger: f.trigger(), Token: secret.Text(hookToken), SigningSecret: secret.Text(signing)}
	return t, f.find(ctx, scheduling.TriggerNotFound, id, "rotated")
}

func (f triggers) Deliveries(
	ctx context.Context, id string, w page.Window,
) ([]scheduling.LoggedDelivery, int, error) {
	return []scheduling.LoggedDelivery{
		{At: past, Verdict: scheduling.Ignored, Event: "push", DeliveryID: "1", Reason: "busy"},
		{At: past, Verdict: scheduling.Fired, RunID: "run_1"},
	}, 7, f.find(ctx, scheduling.TriggerNotFound, id, w)
}

func (f triggers) Delete(ctx context.Context, id string, revision int64) error {
	return f.revised(ctx, scheduling.TriggerNotFound, id, revision, "deleted")
}

type hooks struct{ *fakeModule }

func (f hooks) Deliver(ctx context.Context, d scheduling.Delivery) (scheduling.Delivered, error) {
	if err := f.ask(ctx, d); err != nil {
		return scheduling.Delivered{}, err
	}
	if d.Token != hookToken && d.Token != "known" {
		return scheduling.Delivered{}, scheduling.TriggerNotFound.New("no such hook")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answered, nil
}

// wasAsked checks the last call of the module.
func (f *fixture) wasAsked(want ...any) {
	f.t.Helper()
	f.fake.mu.Lock()
	defer f.fake.mu.Unlock()
	if d := cmp.Diff(want, f.fake.asked); d != "" {
		f.t.Errorf("asked: %s", d)
	}
}

// kept returns the last schedule that the module received.
func (f *fixture) kept() scheduling.Schedule {
	f.t.Helper()
	f.fake.mu.Lock()
	defer f.fake.mu.Unlock()
	s, ok := f.fake.asked[len(f.fake.asked)-1].(scheduling.Schedule)
	if !ok {
		f.t.Fatalf("asked %v", f.fake.asked)
	}
	return s
}

// stored returns a submission with every field that is masked on reading.
func stored() *runs.Submission {
	return &runs.Submission{
		Spec: runs.Spec{
			Tool: "bash", Command: "make", InventoryID: "inv_1", ProjectID: "prj_1", Shards: 2, DryRun: true, TimeoutSeconds: 9,
			Controls: runs.Controls{Limit: "web", Tags: []string{"a"}, SkipTags: []string{"b"}, Forks: 3, Verbosity: 1,
				DiffMode: true},
			Env: map[string]string{"A": "b"}, CredentialIDs: []string{"crd_1"}, Queue: "q", Priority: 2, RequireApproval: true,
			Locks: []string{"db"}, ExclusiveHosts: true,
			Notifications: []runs.Notification{{Kind: "slack", URL: "https://hooks.test/S3CRET/path"},
				{Kind: "pagerduty", Key: "S3CRETKEY", OnFailure: true}},
		},
		Name: "n", Labels: map[string]string{"team": "web"}, Change: "CHG-1",
		ExtraVars: runs.Vars{
			"big": json.RawMessage(`9007199254740993`), "api_token": json.RawMessage(`"S3CRETVAR"`),
			"deep": json.RawMessage(`{"list":[{"password":"S3CRETDEEP","x":1}]}`),
		},
	}
}
