package estatetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// FactStores are the store under test and those of rights. They share one database.
type FactStores struct {
	Unit   tx.Unit
	Facts  estate.FactStore
	Rights objecttest.Rights
}

// FactsEach opens fresh stores for each configuration of the implementation, and calls fn in a sub-test.
type FactsEach func(t *testing.T, fn func(t *testing.T, s FactStores))

type factsEnv struct {
	FactStores
	*objecttest.Env
}

// RunFacts tests an implementation of estate.FactStore against the contract.
func RunFacts(t *testing.T, each FactsEach) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[*factsEnv]{
		"an empty store":           emptyFacts,
		"odd facts":                oddFacts,
		"volatile facts":           volatileFacts,
		"one microsecond":          oneMicrosecond,
		"any order":                factsInAnyOrder,
		"any order, one long list": longHistory,
		"records at once":          factsRace,
		"a reading counts once":    sameReading,
	}, each, func(s FactStores) *factsEnv { return &factsEnv{s, objecttest.NewEnv(s.Unit, s.Rights)} })
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// record stores readings.
func (e *factsEnv) record(t *testing.T, list ...estate.GatheredFacts) {
	t.Helper()
	e.Must(t, func(ctx context.Context) error { return e.Facts.Record(ctx, list) })
}

func (e *factsEnv) at(t *testing.T, at time.Time, reader access.Scope, keys ...string) []estate.Reading {
	t.Helper()
	var out []estate.Reading
	txtest.NoError(t, e.Facts.At(t.Context(), estate.AtQuery{At: at, Keys: keys}, reader, func(r estate.Reading) error {
		out = append(out, r)
		return nil
	}))
	return out
}

func (e *factsEnv) diff(
	t *testing.T, from, to time.Time, reader access.Scope,
) (sum estate.DiffSummary, out []estate.HostChange) {
	t.Helper()
	sum, err := e.Facts.Diff(t.Context(), from, to, reader, func(c estate.HostChange) error {
		out = append(out, c)
		return nil
	})
	txtest.NoError(t, err)
	return sum, out
}

// stored is a reading of the model.
type stored struct {
	estate.GatheredFacts
	readable bool // set for one reader
}

// model answers as a store must, slowly.
type model struct {
	readings []stored // by host and time
}

func (m *model) add(g estate.GatheredFacts) {
	g.GatheredAt = g.GatheredAt.UTC().Truncate(time.Microsecond)
	for i := 0; i < len(m.readings); i++ {
		r := m.readings[i]
		if r.Host != g.Host || !r.GatheredAt.Equal(g.GatheredAt) {
			continue
		}
		if r.RunID == g.RunID {
			return
		}
		g.GatheredAt, i = g.GatheredAt.Add(time.Microsecond), -1
	}
	m.readings = append(m.readings, stored{GatheredFacts: g})
	slices.SortFunc(m.readings, func(a, b stored) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), a.GatheredAt.Compare(b.GatheredAt))
	})
}

// hosts are the readings of each host, by name.
func (m *model) hosts() [][]stored {
	var out [][]stored
	for i, r := range m.readings {
		if i == 0 || m.readings[i-1].Host != r.Host {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

// before is the index of the newest reading at or before a time, or -1.
func before(list []stored, at time.Time) int {
	n := -1
	for i, r := range list {
		if !r.GatheredAt.After(at) {
			n = i
		}
	}
	return n
}

func (m *model) at(at time.Time) (out []estate.Reading, withheld int) {
	for _, list := range m.hosts() {
		n := before(list, at)
		if n < 0 {
			continue
		}
		r := list[n]
		if !r.readable {
			withheld++
			continue
		}
		facts := estate.Facts{}
		maps.Copy(facts, r.Stable)
		if n == len(list)-1 {
			maps.Copy(facts, r.Volatile)
		}
		reading := estate.Reading{Host: r.Host, Facts: facts, GatheredAt: r.GatheredAt, RunID: r.RunID}
		if r.Run != nil {
			reading.InventoryID = r.Run.Spec.InventoryID
		}
		out = append(out, reading)
	}
	return out, withheld
}

func (m *model) diff(from, to time.Time) (d estate.DiffSummary, out []estate.HostChange) {
	d.From, d.To = from, to
	for _, list := range m.hosts() {
		a, b := before(list, from), before(list, to)
		switch {
		case b < 0:
		case !list[b].readable || a >= 0 && !list[a].readable:
			d.Withheld++
		case a < 0:
			d.Added = append(d.Added, list[0].Host)
		case a == b:
			d.Unobserved = append(d.Unobserved, list[0].Host)
		default:
			if facts := differences(list[a].Stable, list[b].Stable); len(facts) > 0 {
				d.Changed++
				out = append(out, estate.HostChange{Host: list[0].Host, Facts: facts})
			} else {
				d.Unchanged++
			}
		}
	}
	return d, out
}

func differences(from, to estate.Facts) []estate.FactChange {
	keys := estate.Facts{}
	maps.Copy(keys, from)
	maps.Copy(keys, to)
	var out []estate.FactChange
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if string(from[k]) != string(to[k]) {
			out = append(out, estate.FactChange{Key: k, From: from[k], To: to[k]})
		}
	}
	return out
}

// timeline counts readings by whole hours.
func (m *model) timeline(from, to time.Time, n int) []estate.Bucket {
	hours := max(1, int(to.Sub(from).Hours()))
	if to.Sub(from) > time.Duration(hours)*time.Hour {
		hours++
	}
	width := (hours + n - 1) / n
	parts := (hours + width - 1) / width
	end := to.Truncate(time.Hour)
	if end.Before(to) {
		end = end.Add(time.Hour)
	}
	out := make([]estate.Bucket, parts)
	for i := range out {
		out[i].At = end.Add(-time.Duration((parts-i)*width) * time.Hour).UTC()
	}
	for _, list := range m.hosts() {
		for i, r := range list {
			part := int(r.GatheredAt.Sub(out[0].At).Hours()) / width
			if !r.readable || r.GatheredAt.Before(out[0].At) || part >= parts {
				continue
			}
			out[part].Readings++
			if i > 0 && list[i-1].readable && len(differences(list[i-1].Stable, r.Stable)) > 0 {
				out[part].Changed++
			}
		}
	}
	return out
}

func (m *model) horizon() (first time.Time) {
	for _, r := range m.readings {
		if r.readable && (first.IsZero() || r.GatheredAt.Before(first)) {
			first = r.GatheredAt
		}
	}
	return first
}

// compare asks the store and the model the same.
func (e *factsEnv) compare(t *testing.T, m *model, reader access.Scope, times []time.Time) {
	t.Helper()
	ctx := t.Context()
	horizon, err := e.Facts.Horizon(ctx, reader)
	txtest.NoError(t, err)
	txtest.Same(t, "horizon", m.horizon(), horizon)
	for i, to := range times {
		want, withheld := m.at(to)
		txtest.Same(t, fmt.Sprint("the estate at ", to), want, e.at(t, to, reader))
		for _, r := range want {
			maps.DeleteFunc(r.Facts, func(key string, _ json.RawMessage) bool {
				return key != "a" && key != "a.b" && key != "uptime"
			})
		}
		txtest.Same(t, fmt.Sprint("facts of keys at ", to), want, e.at(t, to, reader, "a", "uptime"))
		n, err := e.Facts.Withheld(ctx, to, reader)
		txtest.NoError(t, err)
		txtest.Same(t, fmt.Sprint("withheld at ", to), withheld, n)
		for _, from := range times[:i+1] {
			sum, changes := m.diff(from, to)
			gotSum, got := e.diff(t, from, to, reader)
			txtest.Same(t, fmt.Sprint("the diff from ", from, " to ", to), sum, gotSum)
			txtest.Same(t, fmt.Sprint("the changes from ", from, " to ", to), changes, got)
			for _, n := range []int{1, 7} {
				got, err := e.Facts.Timeline(ctx, from, to, n, reader)
				txtest.NoError(t, err)
				txtest.Same(t, fmt.Sprint("the timeline from ", from, " to ", to), m.timeline(from, to, n), got)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	now, _ := m.at(times[len(times)-1].AddDate(100, 0, 0))
	for _, list := range m.hosts() {
		host := list[0].Host
		changed, err := e.Facts.Changed(ctx, host, reader)
		txtest.NoError(t, err)
		txtest.Same(t, "the last changes of "+host, lastChanges(list), changed)
		got, err := e.Facts.Newest(ctx, host, reader)
		i := slices.IndexFunc(now, func(r estate.Reading) bool { return r.Host == host })
		if i < 0 {
			txtest.WantFault(t, err, estate.HostNotFound)
			continue
		}
		txtest.NoError(t, err)
		txtest.Same(t, "the newest reading of "+host, now[i], got)
	}
}

// batches draws readings of few hosts, keys and times, so that all of them meet, in batches.
func batches(runsOf []estate.GatheredFacts, most int) *rapid.Generator[[][]estate.GatheredFacts] {
	fact := rapid.MapOf(rapid.SampledFrom([]string{"a", "a.b", "c", `"d.e".f`}),
		rapid.SampledFrom([]string{"1", `"x"`, "[]"}))
	one := rapid.Custom(func(t *rapid.T) estate.GatheredFacts {
		g := rapid.SampledFrom(runsOf).Draw(t, "run")
		g.Host = rapid.SampledFrom([]string{"web-1", "web-2", "db", "Ärger"}).Draw(t, "host")
		g.GatheredAt = txtest.At(time.Duration(rapid.IntRange(0, 400).Draw(t, "at")) * 17 * time.Minute)
		g.Stable, g.Volatile = estate.Facts{}, estate.Facts{"uptime": raw(`"` + g.GatheredAt.String() + g.RunID + `"`)}
		for k, v := range fact.Draw(t, "facts") {
			g.Stable[k] = raw(v)
		}
		return g
	})
	return rapid.SliceOfN(rapid.SliceOfN(one, 1, 6), most/2, most)
}

// times of a comparison, some of them those of readings.
func (m *model) times(n int) []time.Time {
	out := []time.Time{txtest.At(-time.Hour)}
	for i := range n {
		out = append(out, m.readings[i*len(m.readings)/n].GatheredAt)
	}
	out = append(out, txtest.At(30*time.Hour), txtest.At(200*24*time.Hour))
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// readers makes runs of several scopes, and readers with whether each may read a run.
func (e *factsEnv) readers(t *testing.T) (all []estate.GatheredFacts, readers map[string]reader) {
	t.Helper()
	queue := access.Queue(runs.DefaultQueue)
	open, mine, other := e.Known(t, ids.Project), e.Known(t, ids.Project), e.Known(t, ids.Project)
	me, them := e.AddTeam(t), e.AddTeam(t)
	e.Grant(t, me, mine)
	e.Grant(t, them, other)
	for i, objects := range [][]string{{queue}, {queue, open}, {queue, mine}, {mine, open, queue}, {queue, other},
		{mine, other, queue}, nil} {
		g := estate.GatheredFacts{RunID: fmt.Sprintf("run_%d", i), Objects: objects}
		if i%2 == 0 {
			g.Run = &runs.Run{ID: g.RunID, Spec: runs.Spec{InventoryID: fmt.Sprintf("inv_%d", i)}}
		}
		all = append(all, g)
	}
	of := func(hidden ...string) func(estate.GatheredFacts) bool {
		return func(g estate.GatheredFacts) bool {
			return (len(hidden) == 0 || g.Objects != nil) &&
				!slices.ContainsFunc(g.Objects, func(o string) bool { return slices.Contains(hidden, o) })
		}
	}
	return all, map[string]reader{
		"everything":      {access.Everything(), of()},
		"both":            {access.Scope{Subjects: []string{me, them}}, of()},
		"mine":            {access.Scope{Subjects: []string{me}}, of(other)},
		"neither":         {access.Scope{}, of(mine, other)},
		"strict":          {access.Scope{Strict: true, Subjects: []string{me}}, of(queue, open, other)},
		"strict, nothing": {access.Scope{Strict: true}, of(queue, open, mine, other)},
	}
}

type reader struct {
	access.Scope
	may func(estate.GatheredFacts) bool
}

func (m *model) readBy(r reader) {
	for i, g := range m.readings {
		m.readings[i].readable = r.may(g.GatheredFacts)
	}
}
