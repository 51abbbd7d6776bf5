package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

const knownRun = "run_01k0a8bq3vtx5zk9w2m4n6p8rs"

// well is a doctor without findings.
type well struct{}

func (well) Examine(context.Context) (system.Report, error) { return system.Report{OK: true}, nil }

// free is the licence of an install without one.
type free struct{ system.Licenses }

func (free) License(context.Context) system.LicenseStatus {
	return system.LicenseStatus{State: system.LicenseNone, Tier: system.Free}
}

type wall struct{}

func (wall) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) New(p ids.Prefix) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return string(p) + strings.Repeat("0", 20) + string(rune('a'+c.n%26))
}

// guard authenticates tokens named like roles and authorizes by role.
type guard struct {
	open            bool
	mu              sync.Mutex
	revoked         map[string]bool
	became          identity.Role // the current role of every account, if set
	version         atomic.Int64  // of rights
	decisionVersion atomic.Int64  // the version of the last decision
}

func (g *guard) Authenticate(_ context.Context, token string) (identity.Principal, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		return identity.Principal{User: identity.User{ID: "usr_admin", Username: "admin", Role: identity.Admin}, Open: true},
			nil
	}
	r := identity.Role(token)
	if token == "broken" {
		return identity.Principal{}, errors.New("SQL text that must stay hidden")
	}
	if !r.Valid() || g.revoked[token] {
		return identity.Principal{}, identity.BadToken.New("the token is unknown, expired or revoked")
	}
	return g.principal(token), nil
}

func (g *guard) principal(name string) identity.Principal {
	p := identity.Principal{User: identity.User{ID: "usr_" + name, Username: name, Role: identity.Role(name)},
		TokenID: "tok_" + name, Version: g.version.Load()}
	if g.became != "" {
		p.User.Role = g.became
	}
	return p
}

func (g *guard) Account(ctx context.Context, id, token string) (identity.Principal, error) {
	name := strings.TrimPrefix(id, "usr_")
	if g.open {
		return g.Authenticate(ctx, name)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.revoked[name] || token != "tok_"+name {
		return identity.Principal{}, identity.BadToken.New("the account or its token is gone")
	}
	return g.principal(name), nil
}

func (g *guard) become(r identity.Role) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.became = r
}

func (g *guard) Scope(context.Context, identity.Principal) (access.Scope, error) {
	return access.Everything(), nil
}

func (g *guard) revoke(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.revoked = map[string]bool{token: true}
}

// least is the rank of the least role that an operation's access accepts, 0 for none.
func least(access string) int {
	kind, act, _ := strings.Cut(access, ":")
	if kind == "doctor" {
		return 3
	}
	if kind == "audit" {
		return map[string]int{"verify": 1, "read": 3, "register": 3}[act]
	}
	return map[string]int{"read": 1, "submit": 2, "control": 2, "approve": 3}[act]
}

func (g *guard) Authorize(_ context.Context, p identity.Principal, n identity.Need) error {
	g.decisionVersion.Store(p.Version)
	rank := map[identity.Role]int{identity.Viewer: 1, identity.Operator: 2, identity.Admin: 3}
	asks := least(n.Kind + ":" + n.Act)
	if asks == 0 || rank[p.User.Role] < asks {
		return identity.NotAllowed.New("this takes another role")
	}
	return nil
}

// fake is a fake of the runs module with one run.
type fake struct {
	mu        sync.Mutex
	err       error                       // the error of every call, if set
	refuse    func(context.Context) error // of Submit, if set
	actor     actor.Actor
	submitted runs.Submission
	pipeline  runs.PipelineSubmission
	replayed  bool
	filter    runs.Filter
	reason    string
	events    []runs.Event
	eventsErr func(after int64) error
	log       string
	truncated int64
	copyErr   error
	logAsked  []runs.LogRange
	follow    func(ctx context.Context, after, offset int64, emit func(runs.Update) error) error
	tickets   map[string]runs.TicketOwner
	query     runs.LogQuery
	matrix    runs.MatrixQuery
	compared  string
	parent    string // of the run, if set
}

func run() *runs.Run {
	zero := 0
	return &runs.Run{
		ID: knownRun, Kind: runs.Single, Status: runs.Succeeded, Revision: 7,
		Spec: runs.Spec{
			Tool: "bash", Command: "echo hi", Env: map[string]string{"A": "b"},
			Notifications: []runs.Notification{{Kind: "webhook", URL: "https://hooks.test/T0PSECRET", Key: "K3Y"}},
		},
		Vars:      runs.Vars{"big": json.RawMessage("9007199254740993"), "db_password": json.RawMessage(`"hunter2"`)},
		Outputs:   runs.Vars{"url": json.RawMessage(`"http://x"`)},
		Actor:     actor.Actor{Type: actor.User, ID: "usr_admin", Name: "admin", IP: "10.0.0.1"},
		CreatedAt: time.Date(2026, 1, 5, 8, 30, 0, 123456000, time.UTC),
		StartedAt: time.Date(2026, 1, 5, 8, 30, 1, 0, time.UTC),
		EndedAt:   time.Date(2026, 1, 5, 8, 30, 3, 500000000, time.UTC), ExitCode: &zero,
		Hosts: runs.HostCounts{runs.HostOK: 2}, HostsTouched: 2,
	}
}

func (f *fake) one(ctx context.Context, id string) (*runs.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.actor = actor.From(ctx)
	if f.err != nil {
		return nil, f.err
	}
	if id != knownRun {
		return nil, runs.RunNotFound.New("no run %q", id)
	}
	r := run()
	r.ParentID = f.parent
	return r, nil
}

func (f *fake) Submit(ctx context.Context, s runs.Submission) (*runs.Run, bool, error) {
	f.submitted = s
	if f.refuse != nil {
		return nil, false, f.refuse(ctx)
	}
	r, err := f.one(ctx, knownRun)
	return r, f.replayed, err
}

func (f *fake) SubmitPipeline(ctx context.Context, s runs.PipelineSubmission) (*runs.Run, bool, error) {
	f.pipeline = s
	r, err := f.one(ctx, knownRun)
	if r != nil {
		r.Kind = runs.Pipeline
		r.Graph = &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{Name: "a"}}}}
	}
	return r, f.replayed, err
}

func (f *fake) Cancel(ctx context.Context, id string) (*runs.Run, error) { return f.one(ctx, id) }
func (f *fake) Retry(ctx context.Context, id string) (*runs.Run, error)  { return f.one(ctx, id) }
func (f *fake) RelaunchFailed(ctx context.Context, id string) (*runs.Run, error) {
	return f.one(ctx, id)
}
func (f *fake) Rerun(ctx context.Context, id string) (*runs.Run, error) { return f.one(ctx, id) }
func (f *fake) SetQueue(ctx context.Context, id, queue string, _ int64) (*runs.Run, error) {
	f.reason = queue
	return f.one(ctx, id)
}
func (f *fake) Preview(ctx context.Context, id string) (*runs.Run, bool, error) {
	r, err := f.one(ctx, id)
	return r, f.replayed, err
}
func (f *fake) Get(ctx context.Context, id string) (*runs.Run, error) { return f.one(ctx, id) }

func (f *fake) Approve(ctx context.Context, id string, j runs.DecisionInput) (*runs.Run, error) {
	f.reason = j.Reason
	return f.one(ctx, id)
}

func (f *fake) Reject(ctx context.Context, id string, j runs.DecisionInput) (*runs.Run, error) {
	f.reason = j.Reason
	return f.one(ctx, id)
}

func (f *fake) Facets(_ context.Context, q runs.Filter) (*runs.Facets, error) {
	f.filter = q
	return &runs.Facets{Status: map[runs.Status]int{"failed": 3}, Tool: map[string]int{"bash": 4}, ToolAbout: true}, nil
}

func (f *fake) List(ctx context.Context, q runs.Filter) (*runs.List, error) {
	f.filter = q
	r, err := f.one(ctx, knownRun)
	if err != nil {
		return nil, err
	}
	return &runs.List{Runs: []*runs.Run{r}, Total: 3, HasMore: true, NextCursor: "abc"}, nil
}

func (f *fake) Children(ctx context.Context, id string) ([]*runs.Run, error) {
	shard, err := f.one(ctx, id)
	if err != nil {
		return nil, err
	}
	step := run()
	shard.Kind, step.Kind, step.StepName = runs.Shard, runs.Step, "build"
	return []*runs.Run{shard, step}, nil
}

func (f *fake) Events(ctx context.Context, id string, after int64, limit int) (*runs.EventPage, error) {
	if _, err := f.one(ctx, id); err != nil {
		return nil, err
	}
	if f.eventsErr != nil {
		if err := f.eventsErr(after); err != nil {
			return nil, err
		}
	}
	p := &runs.EventPage{NextAfter: after, End: true}
	for _, e := range f.events {
		if e.Seq > after && len(p.Events) < limit {
			p.Events = append(p.Events, e)
			p.NextAfter = e.Seq
		}
	}
	return p, nil
}

func (f *fake) Log(ctx context.Context, id string, r runs.LogRange) (*runs.LogView, error) {
	if _, err := f.one(ctx, id); err != nil {
		return nil, err
	}
	f.logAsked = append(f.logAsked, r)
	total := int64(len(f.log))
	v := &runs.LogView{Total: total, From: r.From, To: r.To, Sealed: true, Omitted: f.truncated}
	if v.To == 0 || v.To > total {
		v.To = total
	}
	if r.Tail > 0 {
		v.From = max(0, total-r.Tail)
		v.Omitted += v.From
	}
	if r.Line > 0 {
		v.From, v.To, v.Line, v.Lines = 2, 4, 7, 9
	}
	v.Truncated = v.Omitted > 0
	v.Copy = func(_ context.Context, w io.Writer) error {
		part := f.log[v.From:v.To]
		if f.copyErr != nil && r.To > 0 {
			part = part[:len(part)/2]
		}
		if _, err := io.WriteString(w, part); err != nil {
			return err
		}
		return f.copyErr
	}
	return v, nil
}

func (f *fake) Hosts(ctx context.Context, id string) ([]runs.HostSummary, error) {
	_, err := f.one(ctx, id)
	return []runs.HostSummary{{Host: "web1", OK: 2, Worst: runs.HostOK, Duration: 1500 * time.Millisecond}}, err
}

func (f *fake) Tasks(ctx context.Context, id string) ([]runs.TaskSummary, error) {
	_, err := f.one(ctx, id)
	return []runs.TaskSummary{{Task: "ping", Duration: time.Second}}, err
}

func (f *fake) Compare(ctx context.Context, id, with string) (*runs.Comparison, error) {
	f.compared = with
	r, err := f.one(ctx, id)
	if err != nil {
		return nil, err
	}
	return &runs.Comparison{
		Run: r, Baseline: run(), Before: time.Second, After: 2 * time.Second,
		Hosts: []runs.HostChange{{Host: "web1", Before: runs.HostFailed, After: runs.HostOK, Verdict: runs.Recovered}},
		Tasks: []runs.TaskChange{{Task: "ping", Before: time.Second, After: 3 * time.Second}},
	}, nil
}

func (f *fake) Follow(ctx context.Context, id string, after, offset int64, emit func(runs.Update) error) error {
	if _, err := f.one(ctx, id); err != nil {
		return err
	}
	return f.follow(ctx, after, offset, emit)
}

func (f *fake) Mint(ctx context.Context, id string) (string, error) {
	if _, err := f.one(ctx, id); err != nil && id != runs.FeedTicket {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tickets = map[string]runs.TicketOwner{"t1": {Account: f.actor.ID, Token: f.actor.Token}}
	return "t1", nil
}

func (f *fake) Redeem(_ context.Context, ticket, id string) (runs.TicketOwner, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	who, ok := f.tickets[ticket]
	if id != knownRun && id != runs.FeedTicket || !ok {
		return runs.TicketOwner{}, runs.BadTicket.New("the ticket is unknown, used or expired")
	}
	delete(f.tickets, ticket)
	return who, nil
}

func (f *fake) Matrix(ctx context.Context, id string, q runs.MatrixQuery) (*runs.Matrix, error) {
	f.matrix = q
	_, err := f.one(ctx, id)
	return &runs.Matrix{Tasks: []runs.MatrixTask{{ID: "t1", Name: "ping"}}, Hosts: 1, Names: []string{"web1"}, Rev: 3,
		Cells: []byte{1, 1}}, err
}

func (f *fake) Failures(ctx context.Context, id string) ([]runs.FailureGroup, error) {
	_, err := f.one(ctx, id)
	return []runs.FailureGroup{{Task: "ping", Message: "no", Outcome: runs.HostFailed, Count: 1, Hosts: []string{"web1"}}},
		err
}

func (f *fake) Find(ctx context.Context, id string, q runs.LogQuery) (*runs.LogHits, error) {
	f.query = q
	_, err := f.one(ctx, id)
	return &runs.LogHits{Total: 1, Hits: []runs.LogHit{{Line: 1, Text: "hi"}}}, err
}

func (f *fake) Why(ctx context.Context, id string) (*runs.Explanation, error) {
	_, err := f.one(ctx, id)
	return &runs.Explanation{State: runs.Pending, Reasons: []runs.Reason{{Code: "queued", Text: "waits"}}}, err
}

type health struct{ down bool }

func (h *health) Ready(context.Context) error {
	if h.down {
		return fault.Wrap(fault.Unavailable, errors.New("disk gone"), "the store does not answer")
	}
	return nil
}
