package ai_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/ai"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// key is that of the provider.
const key = "k3y/of+the-provider42"

// fixture is an install as the ports of its neighbours show it.
type fixture struct {
	runs.Reader // what is not overridden below is never called
	runs.Insight
	log         string
	message     string // of the failure
	resource    string // that drifts
	cutResource string // another one
	gone        bool   // the run was deleted after it was listed
	run         *runs.Run
	children    []*runs.Run
	submitted   []runs.Submission
	refusal     error // of a submission
	entries     []audit.Entry
	calls       []ai.Call // that were counted
	broken      error     // of the recorder
	logged      strings.Builder

	mu      sync.Mutex
	heard   extension.AIRequest
	answer  func(ctx context.Context, r extension.AIRequest) (extension.AIAnswer, error)
	advisor ai.Advisor
}

func newFixture(t *testing.T, answer string) *fixture {
	t.Helper()
	w := &fixture{run: &runs.Run{ID: "run_1", Name: "Patch", Kind: runs.Single, Status: runs.Failed,
		Spec: runs.Spec{Tool: "bash"}}}
	w.answer = func(context.Context, extension.AIRequest) (extension.AIAnswer, error) {
		return extension.AIAnswer{Text: answer, Tokens: 7}, nil
	}
	w.open(t, extension.AIProviderFunc(w.complete))
	return w
}

// open wires the advisor to a provider.
func (w *fixture) open(t *testing.T, p extension.AIProvider) {
	t.Helper()
	r, err := module.New(module.Params{
		Config: module.Config{Provider: p, Name: "own", Model: "m", Key: key}, Runs: w, Insight: w, Facets: w, Fleet: fleet{},
		Drift: drift{w: w}, Inventories: inventories{}, Projects: projects{}, Submitter: submitter{w: w}, Recorder: w,
		Unit:  w,
		Clock: wall{}, Meter: w, Log: slog.New(slog.NewTextHandler(&w.logged, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.advisor = r.Advisor
}

func (w *fixture) complete(ctx context.Context, r extension.AIRequest) (extension.AIAnswer, error) {
	w.mu.Lock()
	w.heard = r
	w.mu.Unlock()
	return w.answer(ctx, r)
}

// Count implements a meter.
func (w *fixture) Count(c ai.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, c)
}

// counted checks the result of the call that was counted last, and that only one that was asked took time.
func (w *fixture) counted(t *testing.T, action audit.Action, want ai.Result) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) == 0 {
		t.Fatalf("no call was counted, want %s %s", action, want)
	}
	if got := w.calls[len(w.calls)-1]; got.Action != string(action) || got.Result != want ||
		want == ai.Refused && (got.Took != 0 || got.Tokens != 0) {
		t.Errorf("%+v was counted, want %s %s", got, action, want)
	}
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func (w *fixture) Get(_ context.Context, id string) (*runs.Run, error) {
	if id != w.run.ID || w.gone {
		return nil, runs.RunNotFound.New("no run %q", id)
	}
	return w.run, nil
}

// Children are read without their variables.
func (w *fixture) Children(context.Context, string) (out []*runs.Run, err error) {
	for _, x := range w.children {
		child := *x
		child.Vars = nil
		out = append(out, &child)
	}
	return out, nil
}

// List is without the documents of runs.
func (w *fixture) List(context.Context, runs.Filter) (*runs.List, error) {
	light := *w.run
	light.Vars, light.Outputs, light.Graph, light.Spec.Env = nil, nil, nil, nil
	return &runs.List{Runs: []*runs.Run{&light}, Total: 1}, nil
}

func (w *fixture) Log(_ context.Context, id string, r runs.LogRange) (*runs.LogView, error) {
	text := w.log + " of " + id
	from := max(0, len(text)-int(r.Tail))
	text = text[from:]
	return &runs.LogView{From: int64(from), Copy: func(_ context.Context, to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	}}, nil
}

func (w *fixture) Why(context.Context, string) (*runs.Explanation, error) {
	return &runs.Explanation{State: w.run.Status, Reasons: []runs.Reason{{Code: "failed", Text: "the tool failed"}}}, nil
}

func (w *fixture) Failures(context.Context, string) ([]runs.FailureGroup, error) {
	return []runs.FailureGroup{{Task: "Install", Message: "no package " + w.message, Outcome: runs.HostFailed, Count: 2,
		Hosts: []string{"web01", "web02"}}}, nil
}

func (w *fixture) Facets(context.Context, runs.Filter) (*runs.Facets, error) {
	return &runs.Facets{Status: map[runs.Status]int{runs.Failed: 3}, Tool: map[string]int{"bash": 3}}, nil
}

func (w *fixture) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

func (w *fixture) Record(ctx context.Context, e audit.Entry) error {
	if w.broken != nil || ctx.Err() != nil {
		return w.broken
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
	return nil
}

// submitter stores requests.
type submitter struct {
	runs.Submitter
	w *fixture
}

func (s submitter) Submit(_ context.Context, q runs.Submission) (*runs.Run, bool, error) {
	if s.w.refusal != nil {
		return nil, false, s.w.refusal
	}
	s.w.submitted = append(s.w.submitted, q)
	return &runs.Run{ID: "run_2", Status: runs.PendingApproval, Spec: q.Spec, Labels: q.Labels}, false, nil
}

type fleet struct{ estate.Fleet }

func (fleet) Hosts(context.Context, estate.FleetQuery) (estate.FleetPage[estate.HostRank], error) {
	return estate.FleetPage[estate.HostRank]{Total: 1,
		Rows: []estate.HostRank{{Host: "web01", Failures: 2, Total: 10, LastOutcome: runs.HostFailed, Flaky: true}}}, nil
}

// drift hides the name of the interface, which is that of its method.
type drift struct {
	drifting
	w *fixture
}

type drifting = interface{ estate.Drift }

func (d drift) Drift(context.Context, estate.DriftQuery) (estate.DriftPage, error) {
	return estate.DriftPage{Total: 1, Hosts: 1, Findings: []estate.Finding{{Host: "db01", RunID: "run_1",
		Resource: "file /etc/motd " + d.w.resource, Diff: []byte(`"c4nary-diff"`)},
		{Host: "db01", RunID: "run_1", Resource: d.w.cutResource}},
		Coverage: []estate.HostDrift{{Host: "db01", Drifted: 1, Checked: 4}}}, nil
}

type inventories struct{ catalog.Inventories }

func (inventories) List(context.Context, catalog.Filter, page.Window) ([]catalog.Inventory, int, error) {
	i := catalog.Inventory{}
	i.ID, i.Name = "inv_1", "Production"
	return []catalog.Inventory{i}, 1, nil
}

type projects struct{ catalog.Projects }

func (projects) List(context.Context, catalog.Filter, page.Window) ([]catalog.Project, int, error) {
	p := catalog.Project{}
	p.ID, p.Name = "prj_1", "Playbooks"
	return []catalog.Project{p}, 1, nil
}

// last returns the only entry that was recorded.
func (w *fixture) last(t *testing.T) audit.Entry {
	t.Helper()
	if len(w.entries) != 1 {
		t.Fatalf("%d entries: %+v", len(w.entries), w.entries)
	}
	return w.entries[0]
}

// got reports whether the model got a text.
func (w *fixture) got(text string) bool {
	return strings.Contains(w.heard.System+w.heard.Prompt, text)
}
