package estate

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

var _ estate.FactStore = (*Store)(nil)

const (
	// newest is the time of the snapshot that is the newest document of a host.
	newest = math.MaxInt64
	// changesPerSnapshot is how many changes lie between two snapshots.
	changesPerSnapshot = 16
	microsPerHour      = int64(time.Hour / time.Microsecond)
)

// latest is the newest reading of a host.
type latest struct {
	bun.BaseModel `bun:"table:estate_facts,alias:f"`
	HostID        int64
	FirstAt, At   int64
	RunID         int64
	Hash          digest
	Changes       int
}

type reading struct {
	bun.BaseModel `bun:"table:estate_readings,alias:r"`
	HostID        int64
	At            int64
	RunID         int64
}

type change struct {
	bun.BaseModel `bun:"table:estate_changes,alias:c"`
	HostID        int64
	At            int64
	Codec         int
	Facts         []byte
}

type snapshot struct {
	bun.BaseModel `bun:"table:estate_snapshots,alias:s"`
	HostID        int64
	At            int64
	Codec         int
	Facts         []byte
	VolatileCodec int
	Volatile      []byte
}

// bucketKey is an hour, the scope of the readings, and that of the reading before each: the same for the first.
type bucketKey struct{ hour, scope, before int64 }

type bucket struct {
	bun.BaseModel     `bun:"table:estate_buckets,alias:b"`
	Hour              int64
	ScopeID           int64
	BeforeScope       int64
	Readings, Changed int64
	FirstAt           int64
}

// state is what a recorder knows of a host.
type state struct {
	latest
	scope    int64 // of its run
	stable   estate.Facts
	volatile estate.Facts
	// changed means that stable is not stored yet, newer that volatile is not, and touched that the row is not.
	changed, newer, touched bool
}

// recorder collects the rows of a call of Record.
type recorder struct {
	*Store
	q         bun.IDB
	states    map[int64]*state
	readings  []reading
	changes   []change
	snapshots []snapshot
	buckets   map[bucketKey]*bucket
}

// Record locks runs, then hosts, then buckets, each in one order. Two runs in one microsecond are both kept, the second
// one a microsecond later.
func (s *Store) Record(ctx context.Context, list []estate.GatheredFacts) error {
	r := &recorder{Store: s, q: s.d.InUnit(ctx), buckets: map[bucketKey]*bucket{}}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b estate.GatheredFacts) int { return strings.Compare(a.RunID, b.RunID) })
	numbers, names := map[string]scoped{}, make([]string, len(list))
	for i, g := range list {
		names[i] = g.Host
		if _, ok := numbers[g.RunID]; ok {
			continue
		}
		number, err := s.runID(ctx, r.q, recordOf(g.RunID, g.Run), g.Objects)
		if err != nil {
			return err
		}
		if _, err := db.Modify(ctx, r.q.NewUpdate().Model((*run)(nil)).Set("named = coalesce(named, 0) + 1").
			Where("id = ?", number.id)); err != nil { // readings are not deleted
			return fmt.Errorf("name run %s: %w", g.RunID, err)
		}
		numbers[g.RunID] = number
	}
	hosts, err := s.hostIDs(ctx, r.q, names)
	if err != nil {
		return err
	}
	if err := r.load(ctx, slices.Sorted(maps.Values(hosts))); err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b estate.GatheredFacts) int { return a.GatheredAt.Compare(b.GatheredAt) })
	for _, g := range list {
		if err := r.add(ctx, hosts[clean(g.Host)], numbers[g.RunID], g); err != nil {
			return fmt.Errorf("record the facts of %s: %w", g.Host, err)
		}
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	return r.count(ctx)
}

// recordOf is what is kept of a run, whose record may be gone.
func recordOf(id string, r *runs.Run) run {
	if r == nil {
		return run{RunID: id}
	}
	return run{RunID: id, Name: r.Name, Status: string(r.Status), Tool: r.Spec.Tool, Playbook: r.Spec.Playbook,
		TemplateID: r.Spec.TemplateID, InventoryID: r.Spec.InventoryID, DryRun: r.Spec.DryRun, EndedAt: r.EndedAt}
}

func (r *recorder) load(ctx context.Context, hosts []int64) error {
	r.states = make(map[int64]*state, len(hosts))
	for part := range slices.Chunk(hosts, namesPerStatement) {
		rows, err := db.Query[struct {
			latest
			ScopeID int64
		}](ctx, r.q, "SELECT f.host_id, f.first_at, f.at, f.run_id, f.hash, f.changes, ru.scope_id FROM estate_facts AS f "+
			"JOIN estate_runs AS ru ON ru.id = f.run_id WHERE f.host_id IN (?)", bun.In(part))
		if err != nil {
			return fmt.Errorf("read the newest readings: %w", err)
		}
		for _, row := range rows {
			r.states[row.HostID] = &state{latest: row.latest, scope: row.ScopeID}
		}
	}
	return nil
}

func (r *recorder) add(ctx context.Context, host int64, of scoped, g estate.GatheredFacts) error {
	if g.Stable == nil {
		g.Stable = estate.Facts{}
	}
	at, hash := micros(g.GatheredAt), digestOf(join(pairs(g.Stable)))
	st, known := r.states[host]
	switch {
	case !known:
		st = &state{latest: latest{HostID: host, FirstAt: at}, scope: of.scope, changed: true}
		r.states[host] = st
	case at == st.At && of.id == st.RunID:
		return nil
	case at <= st.At:
		stored := false
		var err error
		if at, stored, err = r.free(ctx, host, at, of.id); err != nil || stored {
			return err
		}
		if at < st.At {
			return r.late(ctx, st, at, of, g.Stable)
		}
	}
	var list []string
	if known && hash != st.Hash {
		if err := r.read(ctx, st); err != nil {
			return err
		}
		list = difference(st.stable, g.Stable)
		st.changed = true
		if st.Changes++; st.Changes >= changesPerSnapshot {
			st.Changes = 0
			r.snapshots = append(r.snapshots, r.snapshot(host, at, g.Stable, nil))
		}
	}
	if st.changed {
		st.stable = g.Stable
	}
	r.append(reading{HostID: host, At: at, RunID: of.id}, list, bucketKey{hourOf(at), of.scope, st.scope})
	st.At, st.RunID, st.Hash, st.scope, st.volatile = at, of.id, hash, of.scope, g.Volatile
	st.newer, st.touched = true, true
	return nil
}

// append adds a reading with what it changed.
func (r *recorder) append(row reading, list []string, k bucketKey) {
	r.readings = append(r.readings, row)
	changed := int64(0)
	if len(list) > 0 {
		changed = 1
		c := change{HostID: row.HostID, At: row.At}
		c.Codec, c.Facts = r.codec.Pack(join(list))
		r.changes = append(r.changes, c)
	}
	r.bump(k, row.At, 1, changed)
}

func (r *recorder) bump(k bucketKey, at, readings, changed int64) {
	b := r.buckets[k]
	if b == nil {
		b = &bucket{Hour: k.hour, ScopeID: k.scope, BeforeScope: k.before, FirstAt: at}
		r.buckets[k] = b
	}
	b.Readings, b.Changed, b.FirstAt = b.Readings+readings, b.Changed+changed, min(b.FirstAt, at)
}

func (s *Store) snapshot(host, at int64, stable, volatile estate.Facts) snapshot {
	row := snapshot{HostID: host, At: at}
	row.Codec, row.Facts = s.codec.Pack(join(pairs(stable)))
	row.VolatileCodec, row.Volatile = s.codec.Pack(join(pairs(volatile)))
	return row
}

// read reads the newest document of a host, unless it is known.
func (r *recorder) read(ctx context.Context, st *state) error {
	if st.stable != nil {
		return nil
	}
	row, ok, err := db.QueryRow[snapshot](ctx, r.q, "SELECT s.codec, s.facts FROM estate_snapshots AS s "+
		"WHERE s.host_id = ? AND s.at = ?", st.HostID, int64(newest))
	if err != nil || !ok {
		return db.OrMissing(ok, err, fmt.Errorf("the host %d has no newest document", st.HostID))
	}
	st.stable, err = r.unpack(row.Codec, row.Facts, nil)
	return err
}

// flush writes what was collected, except the buckets.
func (r *recorder) flush(ctx context.Context) error {
	var rows []latest
	var whole, volatile []snapshot
	for _, host := range slices.Sorted(maps.Keys(r.states)) {
		st := r.states[host]
		if st.changed {
			whole = append(whole, r.snapshot(host, newest, st.stable, st.volatile))
		} else if st.newer {
			volatile = append(volatile, r.snapshot(host, newest, nil, st.volatile))
		}
		if st.touched {
			rows = append(rows, st.latest)
		}
		st.changed, st.newer, st.touched = false, false, false
	}
	const newer = " ON CONFLICT (host_id, at) DO UPDATE SET volatile_codec = EXCLUDED.volatile_codec, " +
		"volatile = EXCLUDED.volatile"
	for _, err := range []error{
		db.ModelOf[reading](r.d).Insert(ctx, r.q, r.readings, ""),
		db.ModelOf[change](r.d).Insert(ctx, r.q, r.changes, ""),
		db.ModelOf[snapshot](r.d).Insert(ctx, r.q, r.snapshots, ""),
		db.ModelOf[snapshot](r.d).Insert(ctx, r.q, whole, newer+", codec = EXCLUDED.codec, facts = EXCLUDED.facts"),
		db.ModelOf[snapshot](r.d).Insert(ctx, r.q, volatile, newer),
		db.ModelOf[latest](r.d).Insert(ctx, r.q, rows, " ON CONFLICT (host_id) DO UPDATE SET first_at = EXCLUDED.first_at, "+
			"at = EXCLUDED.at, run_id = EXCLUDED.run_id, hash = EXCLUDED.hash, changes = EXCLUDED.changes"),
	} {
		if err != nil {
			return fmt.Errorf("store readings: %w", err)
		}
	}
	r.readings, r.changes, r.snapshots = nil, nil, nil
	return nil
}

// count adds to the buckets.
func (r *recorder) count(ctx context.Context) error {
	rows := make([]bucket, 0, len(r.buckets))
	for _, b := range r.buckets {
		rows = append(rows, *b)
	}
	slices.SortFunc(rows, func(a, b bucket) int {
		return slices.Compare([]int64{a.Hour, a.ScopeID, a.BeforeScope}, []int64{b.Hour, b.ScopeID, b.BeforeScope})
	})
	err := db.ModelOf[bucket](r.d).Insert(ctx, r.q, rows, " ON CONFLICT (hour, scope_id, before_scope) DO UPDATE SET "+
		"readings = estate_buckets.readings + EXCLUDED.readings, changed = estate_buckets.changed + EXCLUDED.changed, "+
		"first_at = CASE WHEN EXCLUDED.first_at < estate_buckets.first_at THEN EXCLUDED.first_at "+
		"ELSE estate_buckets.first_at END")
	return db.Wrap(err, "count readings")
}

func hourOf(at int64) int64 {
	h := at / microsPerHour
	if at%microsPerHour < 0 {
		h--
	}
	return h
}
