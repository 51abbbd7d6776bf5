package ids_test

import (
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/ids"
	portids "github.com/writ-automation/writ/ports/ids"
)

// steps is a clock that returns the given times and then stops.
type steps struct {
	mu    sync.Mutex
	times []time.Time
}

func (s *steps) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.times[0]
	if len(s.times) > 1 {
		s.times = s.times[1:]
	}
	return t
}

func TestOrder(t *testing.T) {
	t.Parallel()
	base := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	g := ids.New(&steps{times: []time.Time{base, base, base.Add(time.Second), base.Add(-time.Hour), base}})
	last := ""
	for range 1000 {
		id := g.New(portids.Run)
		if !portids.Valid(portids.Run, id) {
			t.Fatalf("%q is no id", id)
		}
		if id <= last {
			t.Fatalf("%q follows %q", id, last)
		}
		last = id
	}
}

func TestUniqueAcrossGoroutines(t *testing.T) {
	t.Parallel()
	g := ids.New(clock.New())
	const workers, each = 8, 5000
	out := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				out[w] = append(out[w], g.New(portids.Message))
			}
		})
	}
	wg.Wait()
	seen := make(map[string]bool, workers*each)
	for _, part := range out {
		for i, id := range part {
			if seen[id] {
				t.Fatalf("%q was made twice", id)
			}
			if i > 0 && id <= part[i-1] {
				t.Fatalf("%q follows %q in one goroutine", id, part[i-1])
			}
			seen[id] = true
		}
	}
}

func TestTwoGeneratorsDiffer(t *testing.T) {
	t.Parallel()
	c := &steps{times: []time.Time{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}}
	if a, b := ids.New(c).New(portids.User), ids.New(c).New(portids.User); a == b {
		t.Errorf("two servers made %q in one millisecond", a)
	}
}

func BenchmarkNew(b *testing.B) {
	g := ids.New(clock.New())
	for b.Loop() {
		_ = g.New(portids.Run)
	}
}
