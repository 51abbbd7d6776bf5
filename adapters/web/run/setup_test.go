package run

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/adapters/web"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

func TestMain(m *testing.M) { httpapitest.Main(m) }

func now() time.Time { return time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC) }

type clock struct{}

func (clock) Now() time.Time { return now() }

// reader has one run with its results, and counts the events that it gave.
type reader struct {
	run      *runs.Run
	children []*runs.Run
	hosts    []runs.HostSummary
	tasks    []runs.TaskSummary
	events   []runs.Event
	log      string
	compared *runs.Comparison
	read     int
	plan     *runs.StoredPlan
}

func (r *reader) Plan(context.Context, string) (*runs.StoredPlan, error) {
	if r.plan == nil {
		return nil, runs.PlanNotFound.New("no plan")
	}
	return r.plan, nil
}

func (r *reader) Get(_ context.Context, id string) (*runs.Run, error) {
	if id != r.run.ID {
		return nil, runs.RunNotFound.New("no run %q", id)
	}
	return r.run, nil
}

func (r *reader) List(context.Context, runs.Filter) (*runs.List, error) { return &runs.List{}, nil }

func (r *reader) Children(context.Context, string) ([]*runs.Run, error) { return r.children, nil }

func (r *reader) Events(_ context.Context, _ string, after int64, limit int) (*runs.EventPage, error) {
	rest := r.events[min(int(after), len(r.events)):]
	rest = rest[:min(limit, len(rest))]
	r.read += len(rest)
	return &runs.EventPage{Events: rest}, nil
}

func (r *reader) Log(_ context.Context, _ string, q runs.LogRange) (*runs.LogView, error) {
	from := max(0, len(r.log)-int(q.Tail))
	return &runs.LogView{Total: int64(len(r.log)), From: int64(from), To: int64(len(r.log)),
		Copy: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, r.log[from:])
			return err
		}}, nil
}

func (r *reader) Hosts(context.Context, string) ([]runs.HostSummary, error) { return r.hosts, nil }
func (r *reader) Tasks(context.Context, string) ([]runs.TaskSummary, error) { return r.tasks, nil }

func (r *reader) Compare(context.Context, string, string) (*runs.Comparison, error) {
	if r.compared == nil {
		return nil, runs.NoBaseline.New("no earlier run of the same source has ended")
	}
	return r.compared, nil
}

// insight has the causes and the reasons of the run.
type insight struct {
	groups  []runs.FailureGroup
	reasons []runs.Reason
	matrix  *runs.Matrix
	asked   int
}

func (x *insight) Matrix(context.Context, string, runs.MatrixQuery) (*runs.Matrix, error) {
	return x.matrix, nil
}

func (x *insight) Failures(context.Context, string) ([]runs.FailureGroup, error) {
	x.asked++
	return x.groups, nil
}

func (x *insight) Find(context.Context, string, runs.LogQuery) (*runs.LogHits, error) {
	return &runs.LogHits{Total: 1, Hits: []runs.LogHit{{Line: 12}}}, nil
}

func (x *insight) Why(context.Context, string) (*runs.Explanation, error) {
	return &runs.Explanation{Reasons: x.reasons}, nil
}

type trail struct{}

func (trail) Page(context.Context, audit.Filter) (audit.Page, error) {
	return audit.Page{Lines: []audit.Line{{Seq: 48211, At: now(), Action: audit.RunSubmit}}}, nil
}

func (trail) ReceiptOf(context.Context, string) (audit.Receipt, bool, error) {
	return audit.Receipt{Seq: 48200}, true, nil
}

func (trail) Size(context.Context) (int64, error) { return 48211, nil }

// serve serves the pages of a run.
func serve(t *testing.T, r *reader, x *insight) *httpapitest.Server {
	t.Helper()
	routes, err := web.New(web.Params{Runs: r, Info: system.Info{Version: "1"}, Clock: clock{},
		Sections: []shell.Section{New(Params{Reader: r, Insight: x, Plans: r, Trail: trail{}})}})
	if err != nil {
		t.Fatal(err)
	}
	return httpapitest.Serve(t, httpapi.Config{}, routes)
}

// big is an ended run of a number of hosts and tasks, in which the last task failed on each hundredth host.
func big(hosts, tasks int) (*reader, *insight) {
	r := &reader{run: &runs.Run{ID: "run_1", Name: "Patch web fleet", Kind: runs.Single, Status: runs.Failed,
		Spec:  runs.Spec{Tool: runs.Ansible, Playbook: "site.yml", Queue: "default"},
		Actor: actor.Actor{Type: actor.User, Name: "Mara Lind"}, CreatedAt: now().Add(-10 * time.Minute),
		StartedAt: now().Add(-9 * time.Minute), EndedAt: now(), Hosts: runs.HostCounts{}}}
	add := func(e runs.Event) {
		e.Seq = int64(len(r.events)) + 1
		e.At = r.run.StartedAt.Add(time.Duration(e.Seq) * time.Millisecond)
		r.events = append(r.events, e)
	}
	for i := range tasks {
		name := fmt.Sprintf("task %d", i)
		r.tasks = append(r.tasks, runs.TaskSummary{Index: i, TaskID: fmt.Sprintf("t%d", i), Task: name, Hosts: hosts,
			Duration: time.Duration(i) * time.Second})
		for h := range hosts {
			e := runs.Event{Type: runs.EventHostOK, Host: fmt.Sprintf("web-%04d", h), Task: name, TaskID: fmt.Sprintf("t%d", i)}
			if i == tasks-1 && h%100 == 0 {
				e.Type, e.Message, e.Stderr = runs.EventHostFailed, "non-zero return code", "no space left"
			}
			add(e)
		}
	}
	r.run.EventCount = int64(len(r.events))
	for h := range hosts {
		s := runs.HostSummary{Host: fmt.Sprintf("web-%04d", h), OK: tasks, Worst: runs.HostOK, Duration: time.Second}
		if h%100 == 0 {
			s.OK, s.Failed, s.Worst = tasks-1, 1, runs.HostFailed
		}
		r.run.Hosts[s.Worst]++
		r.hosts = append(r.hosts, s)
	}
	r.log = strings.Repeat("ok: [web-0001]\nchanged: [web-0002] => {\"x\": 1}\n", 5000)
	r.run.LogBytes = int64(len(r.log))
	return r, &insight{groups: []runs.FailureGroup{{Task: fmt.Sprintf("task %d", tasks-1), Message: "no space left",
		Outcome: runs.HostFailed, Count: hosts / 100, Hosts: []string{"web-0000"}}}}
}
