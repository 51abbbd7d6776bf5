package estatetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// gathered is a reading of a run of the default queue.
func gathered(host, run string, at time.Time, stable estate.Facts) estate.GatheredFacts {
	return estate.GatheredFacts{Host: host, RunID: run, GatheredAt: at, Stable: stable,
		Objects: []string{access.Queue(runs.DefaultQueue)}}
}

func emptyFacts(t *testing.T, e *factsEnv) {
	e.compare(t, &model{}, reader{Scope: access.Everything()}.Scope, []time.Time{txtest.Epoch(), txtest.At(time.Hour)})
	e.record(t)
	_, err := e.Facts.Newest(t.Context(), "web\x00", access.Everything())
	txtest.WantFault(t, err, estate.HostNotFound)
}

// oddFacts stores what no column of text takes, and a large document.
func oddFacts(t *testing.T, e *factsEnv) {
	m, host := &model{}, "h\xff"+txtest.Odd
	large := estate.Facts{}
	for i := range 5_000 {
		large[fmt.Sprint("key.", i)] = raw(`"` + strings.Repeat("x", 100) + `"`)
	}
	for i, f := range []estate.Facts{
		{"a\x00b": raw(`"\u0000"`), "\xff\xfe": raw("\"\xff\""), "": raw("1e999999"),
			strings.Repeat("k", 100_000): raw("null")},
		nil, large, {"x": raw("1")}, large,
	} {
		g := gathered(host, "run_1", txtest.At(time.Duration(i)*time.Hour).In(txtest.Elsewhere()), f)
		e.record(t, g)
		g.Host = strings.ToValidUTF8(host, "\uFFFD")
		m.add(g)
	}
	m.readBy(reader{may: func(estate.GatheredFacts) bool { return true }})
	e.compare(t, m, access.Everything(), m.times(5))
}

func volatileFacts(t *testing.T, e *factsEnv) {
	one, two := gathered("a", "run_1", txtest.Epoch(), nil), gathered("a", "run_2", txtest.At(time.Hour), nil)
	one.Volatile, two.Volatile = estate.Facts{"up": raw("1"), "gone": raw("1")}, estate.Facts{"up": raw("2")}
	old := gathered("a", "run_3", txtest.At(-time.Hour), nil)
	old.Volatile = estate.Facts{"up": raw("3")}
	e.record(t, one, two)
	e.record(t, old)
	got, err := e.Facts.Newest(t.Context(), "a", access.Everything())
	txtest.NoError(t, err)
	txtest.Same(t, "newest", two.Volatile, got.Facts)
	for _, r := range e.at(t, txtest.At(time.Minute), access.Everything()) {
		txtest.Same(t, "before", estate.Facts{}, r.Facts)
	}
	sum, _ := e.diff(t, txtest.Epoch(), txtest.At(2*time.Hour), access.Everything())
	txtest.Same(t, "unchanged", 1, sum.Unchanged)
}

// oneMicrosecond keeps the readings of two runs, each once.
func oneMicrosecond(t *testing.T, e *factsEnv) {
	m := &model{}
	for range 2 {
		for i, run := range []string{"run_1", "run_2", "run_3"} {
			for _, at := range []time.Time{txtest.At(time.Hour), txtest.Epoch()} {
				g := gathered("a", run, at, estate.Facts{"k": raw(fmt.Sprint(i))})
				e.record(t, g)
				m.add(g)
			}
		}
	}
	if len(m.readings) != 6 {
		t.Fatalf("the model has %d readings", len(m.readings))
	}
	m.readBy(reader{may: func(estate.GatheredFacts) bool { return true }})
	e.compare(t, m, access.Everything(), m.times(6))
}

// factsInAnyOrder records drawn readings and compares every answer with that of the model, for several readers.
func factsInAnyOrder(t *testing.T, e *factsEnv) {
	all, readers := e.readers(t)
	m := &model{}
	for seed := range depthtest.Of(3, 40) {
		for _, batch := range batches(all, 12).Example(seed) {
			e.record(t, batch...)
			slices.SortStableFunc(batch, func(a, b estate.GatheredFacts) int {
				return cmp.Or(a.GatheredAt.Compare(b.GatheredAt), cmp.Compare(a.RunID, b.RunID))
			})
			for _, g := range batch {
				m.add(g)
			}
		}
		for name, r := range readers {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				m.readBy(r)
				e.compare(t, m, r.Scope, m.times(4))
			})
		}
	}
}

// longHistory has several snapshots, and late readings between them.
func longHistory(t *testing.T, e *factsEnv) {
	m := &model{}
	add := func(i int, minutes float64) {
		g := gathered("a", fmt.Sprint("run_", i%5), txtest.At(time.Duration(minutes*float64(time.Minute))),
			estate.Facts{"n": raw(fmt.Sprint(i)), fmt.Sprint("k", i%7): raw("true"), "same": raw("1")})
		e.record(t, g)
		m.add(g)
	}
	for i := range 50 {
		add(i, float64(i))
	}
	for i := range 40 { // between two readings, in both orders, and before all
		add(100+i, 20+float64(i)/100)
		add(200+i, 31-float64(i)/100)
		add(300+i, -float64(i)-1)
	}
	m.readBy(reader{may: func(estate.GatheredFacts) bool { return true }})
	for _, r := range m.readings {
		want, _ := m.at(r.GatheredAt)
		txtest.Same(t, fmt.Sprint("the estate at ", r.GatheredAt), want, e.at(t, r.GatheredAt, access.Everything()))
	}
	e.compare(t, m, access.Everything(), m.times(6))
}

// factsRace records readings of the same hosts at once, in opposite orders.
func factsRace(t *testing.T, e *factsEnv) {
	const hosts, writers = 20, 6
	m := &model{}
	lists := make([][]estate.GatheredFacts, writers)
	for w := range writers {
		for h := range hosts {
			g := gathered(fmt.Sprint("h", h), fmt.Sprint("run_", w), txtest.At(time.Duration(w)*time.Minute),
				estate.Facts{"k": raw(fmt.Sprint(w / 2))})
			lists[w] = append(lists[w], g)
			m.add(g)
		}
		if w%2 == 0 {
			slices.Reverse(lists[w])
		}
	}
	txtest.Together(2*writers, func(i int) { // each twice
		if err := e.Do(t, func(ctx context.Context) error { return e.Facts.Record(ctx, lists[i%writers]) }); err != nil {
			t.Error(err)
		}
	})
	m.readBy(reader{may: func(estate.GatheredFacts) bool { return true }})
	e.compare(t, m, access.Everything(), m.times(4))
}

// sameReading repeats readings: the newest, and one of the past.
func sameReading(t *testing.T, e *factsEnv) {
	m := &model{}
	for i := range 3 {
		g := gathered("a", "run_1", txtest.At(time.Duration(i)*time.Hour), estate.Facts{"k": raw(fmt.Sprint(i))})
		m.add(g)
		for range 3 {
			e.record(t, g, g)
		}
	}
	first := m.readings[0].GatheredFacts
	first.Stable = estate.Facts{"k": raw(`"else"`)}
	e.record(t, first)
	m.readBy(reader{may: func(estate.GatheredFacts) bool { return true }})
	e.compare(t, m, access.Everything(), m.times(3))
}

// lastChanges are the times of the last changes of the facts of a host, of readings that the reader may read.
func lastChanges(list []stored) map[string]time.Time {
	out := map[string]time.Time{}
	for i := 1; i < len(list); i++ {
		if !list[i-1].readable || !list[i].readable {
			continue
		}
		for _, c := range differences(list[i-1].Stable, list[i].Stable) {
			out[c.Key] = list[i].GatheredAt
		}
	}
	return out
}
