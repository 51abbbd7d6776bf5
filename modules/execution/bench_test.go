package execution_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/modules/execution"
	ports "github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// BenchmarkTrivialRun is what the executor itself costs for a run whose tool prints a line: no process, no database.
func BenchmarkTrivialRun(b *testing.B) {
	p := newPlane()
	s := newSignals()
	var ended atomic.Int64
	done := make(chan struct{}, 1)
	for i := range b.N {
		p.submit(&runs.Run{ID: fmt.Sprintf("run_%d", i), Spec: runs.Spec{Command: "hi\n"}})
	}
	next := 0
	q := &quickPlane{plane: p, next: &next}
	p.changed = func() {
		if ended.Add(1) == int64(b.N) {
			done <- struct{}{}
		}
	}
	x, err := execution.New(execution.Params{Plane: q, Tools: ports.Tools{"sh": echo}, Reaper: &reaper{}, Signals: s,
		Clock:  fixedClock{},
		Config: execution.Config{Worker: "w", Executors: 8, RunsDir: b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	b.ReportAllocs()
	if err := x.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	<-done
	b.StopTimer()
	if err := x.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// quickPlane finds the next pending run without a search.
type quickPlane struct {
	*plane
	next *int
}

func (q *quickPlane) Claim(ctx context.Context, r runs.ClaimRequest) (*runs.Assignment, error) {
	q.mu.Lock()
	if *q.next >= len(q.order) {
		q.mu.Unlock()
		return nil, nil
	}
	id := q.order[*q.next]
	*q.next++
	rec := q.records[id].run
	rec.Status, rec.Worker, rec.Epoch = runs.Running, r.Worker, 1
	c := *rec
	q.mu.Unlock()
	return &runs.Assignment{Run: &c, Lease: runs.Lease{RunID: id, Worker: r.Worker, Epoch: 1}, NextSeq: 1}, nil
}

// BenchmarkLog is one run that prints 100 MB in lines of 1000 bytes.
func BenchmarkLog(b *testing.B) {
	for b.Loop() {
		p := newPlane()
		done := make(chan struct{}, 2)
		p.submit(&runs.Run{ID: "run_1"})
		p.changed = func() { done <- struct{}{} }
		x, err := execution.New(execution.Params{Plane: p, Tools: ports.Tools{"sh": noisy(100 << 20)}, Reaper: &reaper{},
			Clock:  fixedClock{},
			Config: execution.Config{Worker: "w", Executors: 1, RunsDir: b.TempDir()}})
		if err != nil {
			b.Fatal(err)
		}
		if err := x.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		<-done
		if err := x.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		if r := p.see("run_1"); r.holes != 0 || int64(len(r.log)) != r.end.LogBytes {
			b.Fatalf("%d bytes are missing", r.holes)
		}
		b.SetBytes(100 << 20)
	}
}
