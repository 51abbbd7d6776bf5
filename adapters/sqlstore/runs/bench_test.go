package runs

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// measure runs fn for the benchmark's time and reports how long single calls took.
func measure(b *testing.B, fn func()) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		before := b.Elapsed()
		fn()
		took = append(took, b.Elapsed()-before)
	}
	report(b, took)
}

func report(b *testing.B, took []time.Duration) {
	b.Helper()
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	for _, p := range []int{50, 95} {
		b.ReportMetric(float64(took[(len(took)-1)*p/100].Microseconds())/1000, fmt.Sprintf("ms-p%d", p))
	}
}

// listings returns the measured pages by name.
func listings(n int) map[string]runs.Filter {
	deep := seedStart.Add(time.Duration(n/2) * 30 * time.Second)
	return map[string]runs.Filter{
		"all":             {},
		"oldest":          {Oldest: true},
		"status":          {Statuses: []runs.Status{runs.Failed}},
		"statuses":        {Statuses: []runs.Status{runs.Failed, runs.Succeeded, runs.Canceled}},
		"tool":            {Tool: "python"},
		"tool absent":     {Tool: "golang"},
		"source":          {Sources: []runs.Source{runs.FromSchedule}},
		"actor":           {Actor: "user07"},
		"label":           {Labels: map[string]string{"env": "prod"}},
		"labels":          {Labels: map[string]string{"env": "prod", "site": "lima"}},
		"host":            {Host: "host42"},
		"change":          {Change: "CHG-1007"},
		"template":        {Templates: []string{"sch_042"}},
		"queue":           {Queue: "default"},
		"after":           {After: deep},
		"before":          {Before: deep},
		"status and tool": {Statuses: []runs.Status{runs.Failed}, Tool: "bash"},
		"actor and label": {Actor: "user07", Labels: map[string]string{"site": "lima"}},
		"disjoint":        {Statuses: []runs.Status{runs.Failed}, Tool: "python"},
		"q rare":          {Terms: []string{fmt.Sprint(n / 2)}},
		"q common":        {Terms: []string{"deploy"}},
		"q two common":    {Terms: []string{"prod", "deploy"}},
		"q prefix":        {Terms: []string{"de"}},
		"q letter":        {Terms: []string{"p"}},
		"q everywhere":    {Terms: []string{"playbooks"}},
		"q absent":        {Terms: []string{"deploy", "zebra"}},
		"q and status":    {Terms: []string{"deploy"}, Statuses: []runs.Status{runs.Failed}},
	}
}

func BenchmarkList(b *testing.B) {
	n := size(b)
	s := open(b, "list", n, 100)
	all := listings(n)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			f := all[name]
			f.Limit = 200
			measure(b, func() { list(b, s, f) })
		})
	}
	for _, name := range []string{"all", "status", "label", "q common"} {
		b.Run("deep cursor "+name, func(b *testing.B) {
			f := all[name]
			f.Limit, f.SkipTotal = 200, true
			f.Offset = 20_000
			f.Offset = min(f.Offset, n/20)
			f.Cursor, f.Offset = list(b, s, f).NextCursor, 0
			measure(b, func() { list(b, s, f) })
		})
	}
	b.Run("counts", func(b *testing.B) {
		measure(b, func() {
			if _, err := s.Counts(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("all 16 clients", func(b *testing.B) { clients(b, s, runs.Filter{Limit: 200, Scope: access.Everything()}, 16) })
}

func list(b *testing.B, s *Store, f runs.Filter) *runs.List {
	b.Helper()
	if reflect.ValueOf(f.Scope).IsZero() {
		f.Scope = access.Everything()
	}
	l, err := s.List(b.Context(), f)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// clients distributes b.N calls over concurrent clients.
func clients(b *testing.B, s *Store, f runs.Filter, n int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	left := make(chan struct{}, b.N)
	for range b.N {
		left <- struct{}{}
	}
	close(left)
	b.ResetTimer()
	start := <-time.After(0)
	for range n {
		wg.Go(func() {
			for range left {
				before := time.Since(start)
				_, err := s.List(b.Context(), f)
				d := time.Since(start) - before
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	report(b, took)
}

func BenchmarkClaim(b *testing.B) {
	n := size(b)
	s := open(b, "claim", n, min(n, 100_000))
	b.Run("claim", func(b *testing.B) {
		measure(b, func() {
			err := s.d.Do(b.Context(), func(ctx context.Context) error {
				_, err := s.Claim(ctx, runs.ClaimRequest{Worker: "w", Queues: []string{"default"}}, time.Minute, seedStart)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("counts", func(b *testing.B) {
		measure(b, func() {
			if _, err := s.Counts(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	})
}

func BenchmarkInsert(b *testing.B) {
	s := open(b, "insert", 1000, 0)
	i := 1_000_000_000
	measure(b, func() {
		i++
		r := seedRun(i, true)
		if err := s.d.Do(b.Context(), func(ctx context.Context) error { return s.Insert(ctx, r) }); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	const batch = 200
	s := open(b, "events", 1000, 100)
	var a *runs.Assignment
	err := s.d.Do(b.Context(), func(ctx context.Context) error {
		got, err := s.Claim(ctx, runs.ClaimRequest{Worker: "w", Queues: []string{"default"}}, time.Hour, seedStart)
		a = got.Assignment
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	next := a.NextSeq
	b.ResetTimer()
	for b.Loop() {
		events := make([]runs.Event, batch)
		for i := range events {
			events[i] = runs.Event{Seq: next + int64(i), At: seedStart, Type: runs.EventHostOK, Host: "web1",
				Task: "install packages", Stdout: "ok", DurationMS: 12}
		}
		err := s.d.Do(b.Context(), func(ctx context.Context) error {
			var err error
			next, err = s.AppendEvents(ctx, a.Lease, events)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkChanges lists the changes of runs of which one in a hundred names one. Ten runs are a change.
func BenchmarkChanges(b *testing.B) {
	s := open(b, "changes", size(b), 100, func(i int, r *runs.Run) {
		if r.Change = ""; i%100 == 7 {
			r.Change = fmt.Sprintf("CHG-%d", i/1000)
		}
	}, spread(10))
	hide(b, s, access.Queue("q003"))
	for _, reader := range []struct {
		name  string
		scope access.Scope
	}{{"All", access.Everything()}, {"scoped", access.Scope{Subjects: []string{"user:usr_1", "team:team_1"}}}} {
		b.Run(reader.name, func(b *testing.B) {
			measure(b, func() {
				list, err := s.ChangeRuns(b.Context(), "", estate.MaxScanned+1, reader.scope)
				if err != nil || len(list) == 0 {
					b.Fatal(len(list), err)
				}
				lists := make([][]int64, 100)
				for i := range min(len(list), 1000) {
					lists[i/10] = append(lists[i/10], list[i].Seq)
				}
				if _, err := s.Touched(b.Context(), lists); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
