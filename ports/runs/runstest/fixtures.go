package runstest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// env holds the stores of one case and makes records for them.
type env struct {
	Stores
	n atomic.Int64
}

func (e *env) totalCap() int {
	if e.TotalCap > 0 {
		return e.TotalCap
	}
	return runs.TotalCap
}

// epoch is the creation time of the first run of a case.
var epoch = time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC)

func at(d time.Duration) time.Time { return epoch.Add(d) }

const ttl = time.Minute

// gone is the duration of a lease that expires before it begins, so that no test waits.
const gone = -time.Second

func ptr[T any](v T) *T { return &v }

// bare makes a pending run. Its number in the case determines its id and its creation time.
func (e *env) bare(edit ...func(*runs.Run)) *runs.Run {
	n := e.n.Add(1)
	r := &runs.Run{
		ID: fmt.Sprintf("run_%026d", n), Kind: runs.Single, Status: runs.Pending,
		Spec:      runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue},
		Origin:    runs.Origin{Source: runs.FromAPI},
		Actor:     actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada"},
		CreatedAt: at(time.Duration(n) * time.Second), QueuedAt: at(time.Duration(n) * time.Second),
		Objects: []string{access.Queue(runs.DefaultQueue)},
	}
	for _, fn := range edit {
		fn(r)
	}
	return r
}

// add inserts a run.
func (e *env) add(t *testing.T, edit ...func(*runs.Run)) *runs.Run {
	t.Helper()
	r := e.bare(edit...)
	e.must(t, func(ctx context.Context) error { return e.Runs.Insert(ctx, r) })
	return r
}

// get reads a run that must exist.
func (e *env) get(t *testing.T, id string) *runs.Run {
	t.Helper()
	r, err := e.Runs.ByID(t.Context(), id)
	if err != nil {
		t.Fatalf("read %s: %v", id, err)
	}
	return r
}

// claim claims the next run of the default queue. It fails the test if there is none.
func (e *env) claim(t *testing.T, worker string, ttl time.Duration) *runs.Assignment {
	t.Helper()
	a := e.tryClaim(t, worker, ttl, runs.DefaultQueue)
	if a == nil {
		t.Fatal("nothing to claim")
	}
	return a
}

func (e *env) tryClaim(t *testing.T, worker string, ttl time.Duration, queues ...string) *runs.Assignment {
	t.Helper()
	var a *runs.Assignment
	e.must(t, func(ctx context.Context) error {
		got, err := e.Queue.Claim(ctx, runs.ClaimRequest{Worker: worker, Queues: queues}, ttl, at(time.Hour))
		a = got.Assignment
		return err
	})
	return a
}

// running adds a run and claims it.
func (e *env) running(t *testing.T, edit ...func(*runs.Run)) *runs.Assignment {
	t.Helper()
	r := e.add(t, edit...)
	a := e.claim(t, "w1", ttl)
	if a.Run.ID != r.ID {
		t.Fatalf("claimed %s, want %s", a.Run.ID, r.ID)
	}
	return a
}

func (e *env) move(t *testing.T, m runs.Move) (*runs.Run, error) {
	t.Helper()
	var r *runs.Run
	err := e.do(t, func(ctx context.Context) error {
		var err error
		r, err = e.Runs.Move(ctx, m)
		return err
	})
	return r, err
}

// finish ends a running run.
func (e *env) finish(t *testing.T, a *runs.Assignment, to runs.Status, when time.Time) *runs.Run {
	t.Helper()
	r, err := e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: to, At: when, Lease: &a.Lease})
	if err != nil {
		t.Fatalf("finish %s: %v", a.Run.ID, err)
	}
	return r
}

// counts returns the counters as "status/queue" -> runs and top-level runs.
func (e *env) counts(t *testing.T) map[string][2]int64 {
	t.Helper()
	list, err := e.Runs.Counts(t.Context())
	if err != nil {
		t.Fatalf("counts: %v", err)
	}
	out := map[string][2]int64{}
	for _, c := range list {
		if c.Runs != 0 || c.Top != 0 {
			out[string(c.Status)+"/"+c.Queue] = [2]int64{c.Runs, c.Top}
		}
	}
	return out
}

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !code.Is(err) {
		t.Fatalf("error is %v, want %s", err, code.Name)
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func childOf(parent *runs.Run, kind runs.Kind, n int) func(*runs.Run) {
	return func(r *runs.Run) {
		r.Kind, r.ParentID = kind, parent.ID
		if kind == runs.Shard {
			r.ShardIndex = n
		} else {
			r.StepName, r.Attempt = "build", n
		}
	}
}

func asSplit(r *runs.Run) {
	r.Kind, r.ShardCount, r.ShardHosts = runs.Split, 2, [][]string{{"a"}, {"b"}}
}

// diff returns the differences of two values, empty if they are equal. Times compare with their zone, which is UTC
// everywhere.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	a, errA := json.MarshalIndent(want, "", " ")
	b, errB := json.MarshalIndent(got, "", " ")
	if errA != nil || errB != nil || bytes.Equal(a, b) {
		return fmt.Sprintf("want %+v\ngot  %+v", want, got)
	}
	before, after := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	var out strings.Builder
	for i := range max(len(before), len(after)) {
		switch {
		case i >= len(before):
			fmt.Fprintln(&out, "+", after[i])
		case i >= len(after):
			fmt.Fprintln(&out, "-", before[i])
		case before[i] != after[i]:
			fmt.Fprintf(&out, "- %s\n+ %s\n", before[i], after[i])
		}
	}
	return out.String()
}
