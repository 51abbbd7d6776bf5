package estate

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

func (s *Store) Hosts(
	ctx context.Context, f estate.FleetQuery, reader access.Scope,
) (estate.FleetPage[estate.HostRank], error) {
	return ranking(ctx, s, ofHost, f, reader, failures, func(list []subject) ([]estate.HostRank, error) {
		nos := map[int64]run{}
		for _, x := range list {
			for _, e := range x.results {
				nos[e.run] = run{}
			}
		}
		err := runsOf(ctx, s.d.Read(ctx), nos)
		return db.Convert(list, func(x subject) estate.HostRank {
			n := failures(x.results)
			r := estate.HostRank{Host: x.name, Failures: int(n[0]), Total: len(x.results), Flips: int(n[1]),
				Flaky: n[1] >= estate.FlakyFlips, LastOutcome: outcomes()[x.results[0].value],
				LastRunAt: time.UnixMicro(x.results[0].ended).UTC()}
			for _, e := range x.results {
				r.Recent = append(r.Recent, estate.RunResult{RunID: nos[e.run].RunID, Outcome: outcomes()[e.value]})
			}
			return r
		}), err
	})
}

// failures counts failures and flips.
func failures(list []entry) (n [2]int64) {
	bad := func(e entry) bool { return e.value >= firstFailure }
	for i, e := range list {
		if bad(e) {
			n[0]++
		}
		if i > 0 && bad(e) != bad(list[i-1]) {
			n[1]++
		}
	}
	return n
}

func (s *Store) Tasks(
	ctx context.Context, f estate.FleetQuery, reader access.Scope,
) (estate.FleetPage[estate.TaskTrend], error) {
	byMean := func(list []entry) [2]int64 { return [2]int64{sum(list) / int64(len(list)), 0} }
	return ranking(ctx, s, ofTask, f, reader, byMean, func(list []subject) ([]estate.TaskTrend, error) {
		return db.Convert(list, trendOf), nil
	})
}

func sum(list []entry) (n int64) {
	for _, e := range list {
		n += e.value
	}
	return n
}

func trendOf(x subject) estate.TaskTrend {
	n, list := len(x.results), x.results
	t := estate.TaskTrend{Task: x.name, Runs: n, Mean: millis(sum(list) / int64(n)), Last: millis(list[0].value),
		Trend: estate.Steady}
	for _, e := range list {
		t.Recent = append(t.Recent, millis(e.value))
	}
	sorted := slices.Sorted(slices.Values(t.Recent))
	t.P95 = sorted[(n*95+99)/100-1]
	// Both halves have as many runs, so that their sums compare like their means.
	switch newer, older := sum(list[:n/2]), sum(list[n-n/2:]); {
	case 5*newer > 6*older:
		t.Trend = estate.Slower
	case 5*newer < 4*older:
		t.Trend = estate.Faster
	}
	return t
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// ranking returns a page of what rank selects, made into rows.
func ranking[T any](
	ctx context.Context, s *Store, k kind, f estate.FleetQuery, reader access.Scope, ranks func([]entry) [2]int64,
	rows func([]subject) ([]T, error),
) (estate.FleetPage[T], error) {
	page := estate.FleetPage[T]{Window: f.Window}
	q := s.d.Read(ctx)
	may, err := scopes.ReaderOf(ctx, q, reader)
	if err != nil {
		return page, err
	}
	list, total, err := s.rank(ctx, q, k, f, may, ranks)
	if err != nil {
		return page, err
	}
	page.Total = total
	page.Rows, err = rows(list)
	return page, err
}

// runsOf reads the runs of results by their numbers.
func runsOf(ctx context.Context, q bun.IDB, nos map[int64]run) error {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(nos)), namesPerStatement) {
		var rows []run
		if err := q.NewSelect().Model(&rows).Where("r.id IN (?)", bun.In(part)).Scan(ctx); err != nil {
			return db.Wrap(err, "read the runs of hosts")
		}
		for _, r := range rows {
			nos[r.ID] = r
		}
	}
	return nil
}

func hostNamed(ctx context.Context, q bun.IDB, name string) (h host, found bool, err error) {
	found, err = db.First(ctx, q.NewSelect().Model(&h).Where("h.name = ?", clean(name)))
	return h, found, db.Wrap(err, "find a host")
}

func (s *Store) Names(ctx context.Context, reader access.Scope, yield func(host string) error) error {
	q := s.d.Read(ctx)
	may, err := scopes.ReaderOf(ctx, q, reader)
	if err != nil {
		return err
	}
	return s.eachSubject(ctx, q, selection{kind: ofHost, window: 1}, may, func(x subject) error { return yield(x.name) })
}

// Runs reads a bounded number of results at a time, of which the reader may perhaps read none.
func (s *Store) Runs(ctx context.Context, name string, limit int, reader access.Scope) ([]estate.HostRun, error) {
	q := s.d.Read(ctx)
	may, err := scopes.ReaderOf(ctx, q, reader)
	if err != nil {
		return nil, err
	}
	h, more, err := hostNamed(ctx, q, name)
	var out []estate.HostRun
	for last := (resultRow{EndedUS: math.MaxInt64}); err == nil && more && len(out) < limit; {
		var rows []resultRow
		if err := q.NewSelect().Model(&rows).Where("x.host_id = ? AND (x.ended_us, x.run_no) < (?, ?)", h.ID, last.EndedUS,
			last.RunNo).OrderExpr("x.ended_us DESC, x.run_no DESC").Limit(namesPerStatement).Scan(ctx); err != nil {
			return nil, db.Wrap(err, "read the runs of a host")
		}
		nos := make(map[int64]run, len(rows))
		for _, x := range rows {
			nos[x.RunNo], last = run{}, x
		}
		err, more = runsOf(ctx, q, nos), len(rows) == namesPerStatement
		for _, x := range rows {
			if r := nos[x.RunNo]; len(out) < limit && r.ID != 0 && may.May(r.ScopeID) {
				out = append(out, hostRun(h.Name, x, r))
			}
		}
	}
	if err == nil && len(out) == 0 {
		err = estate.HostNotFound.New("no run that you may read reported this host")
	}
	return out, err
}

func hostRun(name string, x resultRow, r run) estate.HostRun {
	h := estate.HostRun{HostSummary: runs.HostSummary(x.resultColumns), RunID: r.RunID, Name: r.Name,
		Status: runs.Status(r.Status), Playbook: r.Playbook, TemplateID: r.TemplateID, InventoryID: r.InventoryID,
		DryRun: r.DryRun, EndedAt: time.UnixMicro(x.EndedUS).UTC()}
	h.Host, h.Duration = name, time.Duration(x.DurationUS)*time.Microsecond
	return h
}
