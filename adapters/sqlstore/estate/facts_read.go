package estate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
)

// hostsPerChunk bounds the documents that are in memory at once.
const hostsPerChunk = 64

// document is the stable facts of a host at a reading, and the volatile ones if it is the newest.
type document struct {
	estate.Reading
	scope            int64
	stable, volatile estate.Facts
}

// end is the time of the newest reading at or before a time, of a host of estate_facts that has one.
const end = "CASE WHEN f.at <= ? THEN f.at ELSE (SELECT MAX(x.at) FROM estate_readings AS x " +
	"WHERE x.host_id = f.host_id AND x.at <= ?) END"

// each yields the documents of the readings of a query, by name: it selects name, host_id, at and newest. They come of
// one statement, so that what is recorded meanwhile cannot mix with them. Documents have the facts that keys select.
// hosts are those that were read.
func (s *Store) each(
	ctx context.Context, q bun.IDB, query string, args []any, keys []string, yield func(document) error,
) (hosts int, err error) {
	rows, err := db.Query[struct {
		Kind               int
		Name               string
		HostID, At, Newest int64
		RunID, InventoryID string
		ScopeID            int64
		Codec              int
		Facts              []byte
		VolatileCodec      int
		Volatile           []byte
	}](ctx, q, "WITH e AS MATERIALIZED ("+query+"), b AS MATERIALIZED (SELECT e.*, (SELECT MIN(x.at) "+
		"FROM estate_snapshots AS x WHERE x.host_id = e.host_id AND x.at >= e.at) AS base FROM e) "+
		"SELECT 1 AS kind, b.name, b.host_id, b.at, b.newest, ru.run_id, ru.inventory_id, ru.scope_id, s.codec, s.facts, "+
		"s.volatile_codec, s.volatile FROM b JOIN estate_readings AS r ON r.host_id = b.host_id AND r.at = b.at "+
		"JOIN estate_runs AS ru ON ru.id = r.run_id JOIN estate_snapshots AS s ON s.host_id = b.host_id AND s.at = b.base "+
		"UNION ALL SELECT 2, b.name, c.host_id, c.at, 0, '', '', 0, c.codec, c.facts, 0, NULL "+
		"FROM b JOIN estate_changes AS c ON c.host_id = b.host_id AND c.at > b.at AND c.at <= b.base "+
		"ORDER BY 2, 1, 4 DESC", args...)
	if err != nil {
		return 0, fmt.Errorf("read the facts of hosts: %w", err)
	}
	for i := 0; i < len(rows); hosts++ {
		row := rows[i]
		d := document{scope: row.ScopeID, Reading: estate.Reading{Host: row.Name, RunID: row.RunID,
			InventoryID: row.InventoryID, GatheredAt: time.UnixMicro(row.At).UTC()}}
		if d.stable, err = s.unpack(row.Codec, row.Facts, keys); err == nil && row.At == row.Newest {
			d.volatile, err = s.unpack(row.VolatileCodec, row.Volatile, keys)
		}
		for i++; i < len(rows) && rows[i].Kind == 2 && err == nil; i++ {
			err = s.undo(d.stable, rows[i].Codec, rows[i].Facts, keys)
		}
		if err != nil {
			return hosts, fmt.Errorf("read the facts of %s: %w", row.Name, err)
		}
		if err := yield(d); err != nil {
			return hosts, err
		}
	}
	return hosts, nil
}

// undo takes a change back.
func (s *Store) undo(f estate.Facts, codec int, packed []byte, keys []string) error {
	list, err := s.list(codec, packed)
	for i := 0; i+2 < len(list); i += 3 {
		switch from := value(list[i+1]); {
		case !estate.Selected(list[i], keys):
		case from != nil:
			f[list[i]] = from
		default:
			delete(f, list[i])
		}
	}
	return err
}

// whole is a reading with all facts that are known of it.
func (d document) whole() estate.Reading {
	for k, v := range d.volatile {
		d.stable[k] = v
	}
	d.Facts = d.stable
	return d.Reading
}

func (s *Store) At(ctx context.Context, a estate.AtQuery, reader access.Scope, yield func(estate.Reading) error) error {
	q := s.d.Read(ctx)
	may, err := scopes.ReaderOf(ctx, q, reader)
	if err != nil {
		return err
	}
	at, after := micros(a.At), clean(a.After)
	for {
		n, err := s.each(ctx, q, "SELECT h.name, f.host_id, f.at AS newest, "+end+" AS at FROM estate_hosts AS h "+
			"JOIN estate_facts AS f ON f.host_id = h.id WHERE h.name > ? AND f.first_at <= ? ORDER BY h.name"+db.Limit,
			[]any{at, at, after, at, hostsPerChunk}, a.Keys, func(d document) error {
				after = d.Host
				if !may.May(d.scope) {
					return nil
				}
				return yield(d.whole())
			})
		if err != nil || n < hostsPerChunk {
			return err
		}
	}
}

func (s *Store) Newest(ctx context.Context, host string, reader access.Scope) (r estate.Reading, err error) {
	q := s.d.Read(ctx)
	may, err := scopes.ReaderOf(ctx, q, reader)
	if err != nil {
		return r, err
	}
	found := false
	_, err = s.each(ctx, q, "SELECT h.name, f.host_id, f.at, f.at AS newest FROM estate_hosts AS h "+
		"JOIN estate_facts AS f ON f.host_id = h.id WHERE h.name = ?", []any{clean(host)}, nil, func(d document) error {
		if found = may.May(d.scope); found {
			r = d.whole()
		}
		return nil
	})
	return r, db.OrMissing(found, err, estate.HostNotFound.New("no facts of the host %s are known", host))
}

// readable is the condition that a reader may read a scope. It is empty if nothing is hidden.
func (s *Store) readable(
	ctx context.Context, q bun.IDB, reader access.Scope, column string,
) (text string, args []any, err error) {
	may, err := scopes.ReaderOf(ctx, q, reader)
	if err != nil || may.All() {
		return "", nil, err
	}
	hidden, args := scopes.Hidden(reader)
	text = "(" + column + " > 0 AND " + column + " NOT IN (" + hidden + ")"
	if may.May(scopes.Default) {
		text += " OR " + column + " = 0"
	}
	return text + ")", args, nil
}

// hiddenAt selects the numbers of hosts whose reading at a time the reader may not read.
func (s *Store) hiddenAt(
	ctx context.Context, q bun.IDB, at int64, reader access.Scope,
) (text string, args []any, err error) {
	readable, args, err := s.readable(ctx, q, reader, "ru.scope_id")
	if err != nil || readable == "" {
		return "", nil, err
	}
	return "SELECT e.host_id FROM (SELECT f.host_id, " + end + " AS at FROM estate_facts AS f " +
		"WHERE f.first_at <= ?) AS e JOIN estate_readings AS r ON r.host_id = e.host_id AND r.at = e.at " +
		"JOIN estate_runs AS ru ON ru.id = r.run_id " +
		"WHERE NOT " + readable, append([]any{at, at, at}, args...), nil
}

func (s *Store) Withheld(ctx context.Context, at time.Time, reader access.Scope) (int, error) {
	q := s.d.Read(ctx)
	hidden, args, err := s.hiddenAt(ctx, q, micros(at), reader)
	if err != nil || hidden == "" {
		return 0, err
	}
	n, err := db.Count(ctx, q, "SELECT COUNT(*) FROM ("+hidden+") AS n", args...)
	return n, db.Wrap(err, "count what is withheld")
}

// The parts of a diff.
const (
	present = iota + 1 // how many hosts were gathered before
	withheld
	added
	unobserved
	differing // changes of hosts
)

func (s *Store) Diff(
	ctx context.Context, from, to time.Time, reader access.Scope, yield func(estate.HostChange) error,
) (d estate.DiffSummary, err error) {
	q, a, b := s.d.Read(ctx), micros(from), micros(to)
	hiddenA, argsA, err := s.hiddenAt(ctx, q, a, reader)
	if err != nil {
		return d, err
	}
	hiddenB, argsB, err := s.hiddenAt(ctx, q, b, reader)
	if err != nil {
		return d, err
	}
	// Few changes come with the rest, many come by hosts.
	n, err := db.Count(ctx, q, "SELECT COUNT(*) FROM (SELECT 1 AS one FROM estate_changes AS c "+
		"WHERE c.at > ? AND c.at <= ?"+db.Limit+") AS few", a, b, s.atOnce+1)
	if err != nil {
		return d, fmt.Errorf("count changes: %w", err)
	}
	few := n <= s.atOnce
	rows, err := s.parts(ctx, q, a, b, few, hiddenA, hiddenB, append(argsA, argsB...))
	if err != nil {
		return d, fmt.Errorf("compare the hosts: %w", err)
	}
	d.From, d.To = from, to
	i := 0
	for ; i < len(rows) && rows[i].Part < differing; i++ {
		switch r := rows[i]; r.Part {
		case present:
			d.Unchanged = int(r.HostID)
		case withheld:
			d.Withheld = int(r.HostID)
		case added:
			d.Added = append(d.Added, r.Name)
		case unobserved:
			d.Unobserved = append(d.Unobserved, r.Name)
		}
	}
	step := len(rows) // where there are few changes, all rows are read
	if !few {
		step = namesPerStatement
	}
	for part := range slices.Chunk(rows[i:], max(1, step)) {
		if !few {
			if part, err = s.changesOf(ctx, q, part, a, b); err != nil {
				return d, err
			}
		}
		n, err := s.compose(part, yield)
		if d.Changed += n; err != nil {
			return d, err
		}
	}
	d.Unchanged -= d.Changed + len(d.Unobserved)
	return d, nil
}

// changesAtOnce bounds the changes that are in memory at once.
const changesAtOnce = 50_000

// ReadAtOnce replaces the bound, for tests.
func (s *Store) ReadAtOnce(changes int) *Store {
	s.atOnce = changes
	return s
}

// part is a row of a diff: a number, a host, or a change of a host.
type part struct {
	Part, HostID int64
	Name         string
	At           int64
	Codec        int
	Facts        []byte
}

// parts reads the hosts of a diff by part, name and time. The parts are one statement, so that they are of one moment,
// and each walks one table or index.
func (s *Store) parts(
	ctx context.Context, q bun.IDB, from, to int64, few bool, hiddenFrom, hiddenTo string, hidden []any,
) ([]part, error) {
	with, last, visible := "", "", ""
	if hiddenFrom != "" {
		with = "WITH w AS MATERIALIZED (" + hiddenFrom + " UNION " + hiddenTo + ") "
		last = " UNION ALL SELECT 2, COUNT(*), '', 0, 0, NULL FROM w"
		visible = " AND f.host_id NOT IN (SELECT w.host_id FROM w)"
	}
	changes := "SELECT DISTINCT c.host_id, 0 AS at, 0 AS codec, NULL AS facts"
	if few {
		changes = "SELECT c.host_id, c.at, c.codec, c.facts"
	}
	const hosts = " JOIN estate_hosts AS h ON h.id = f.host_id WHERE "
	return db.Query[part](ctx, q, with+
		"SELECT 5 AS part, h.id AS host_id, h.name AS name, x.at AS at, x.codec AS codec, x.facts AS facts FROM ("+changes+
		" FROM estate_changes AS c WHERE c.at > ? AND c.at <= ?) AS x JOIN estate_facts AS f ON f.host_id = x.host_id"+
		hosts+"f.first_at <= ?"+visible+
		" UNION ALL SELECT 1, COUNT(*), '', 0, 0, NULL FROM estate_facts AS f WHERE f.first_at <= ?"+visible+
		" UNION ALL SELECT 3, h.id, h.name, 0, 0, NULL FROM estate_facts AS f"+hosts+
		"f.first_at > ? AND f.first_at <= ?"+visible+
		" UNION ALL SELECT 4, h.id, h.name, 0, 0, NULL FROM estate_facts AS f"+hosts+"f.first_at <= ? "+
		"AND NOT (f.at > ? AND f.at <= ?) AND NOT EXISTS (SELECT 1 FROM estate_readings AS r WHERE r.host_id = f.host_id "+
		"AND r.at > ? AND r.at <= ?)"+visible+last+" ORDER BY 1, 3, 4",
		append(hidden, from, to, from, from, from, to, from, from, to, from, to)...)
}

// changesOf reads the changes of hosts, in the order of the hosts.
func (s *Store) changesOf(ctx context.Context, q bun.IDB, hosts []part, from, to int64) ([]part, error) {
	ids := make([]int64, len(hosts))
	for i, h := range hosts {
		ids[i] = h.HostID
	}
	rows, err := db.Query[part](ctx, q, "SELECT c.host_id, h.name, c.at, c.codec, c.facts FROM estate_changes AS c "+
		"JOIN estate_hosts AS h ON h.id = c.host_id WHERE c.host_id IN (?) AND c.at > ? AND c.at <= ? ORDER BY h.name, c.at",
		bun.In(ids), from, to)
	return rows, db.Wrap(err, "read changes")
}

// compose yields the hosts whose changes leave a difference, and counts them.
func (s *Store) compose(rows []part, yield func(estate.HostChange) error) (n int, err error) {
	all := map[string]estate.FactChange{}
	for i, r := range rows {
		list, err := s.list(r.Codec, r.Facts)
		if err != nil {
			return n, fmt.Errorf("read the changes of %s: %w", r.Name, err)
		}
		compose(all, list)
		if i+1 < len(rows) && rows[i+1].HostID == r.HostID {
			continue
		}
		facts := composed(all)
		if clear(all); len(facts) == 0 {
			continue
		}
		n++
		if err := yield(estate.HostChange{Host: r.Name, Facts: facts}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// micros is a time in the form of the tables.
func micros(t time.Time) int64 { return db.Cut(t).UnixMicro() }

func (s *Store) Timeline(
	ctx context.Context, from, to time.Time, buckets int, reader access.Scope,
) ([]estate.Bucket, error) {
	q := s.d.Read(ctx)
	may, err := scopes.ReaderOf(ctx, q, reader)
	if err != nil {
		return nil, err
	}
	last := hourOf(micros(to)-1) + 1 // the end of the hour that contains what is just before to
	hours := max(1, (micros(to)-micros(from)+microsPerHour-1)/microsPerHour)
	width := (hours + int64(buckets) - 1) / int64(buckets)
	n := (hours + width - 1) / width
	first := last - n*width
	rows, err := db.Query[struct{ Part, ScopeID, BeforeScope, Readings, Changed int64 }](ctx, q,
		"SELECT (b.hour - ?) / ? AS part, b.scope_id, b.before_scope, CAST(SUM(b.readings) AS BIGINT) AS readings, "+
			"CAST(SUM(b.changed) AS BIGINT) AS changed FROM estate_buckets AS b WHERE b.hour >= ? AND b.hour < ? "+
			"GROUP BY 1, 2, 3",
		first, width, first, last)
	if err != nil {
		return nil, fmt.Errorf("read the timeline: %w", err)
	}
	out := make([]estate.Bucket, n)
	for i := range out {
		out[i].At = time.UnixMicro((first + int64(i)*width) * microsPerHour).UTC()
	}
	for _, r := range rows {
		if !may.May(r.ScopeID) {
			continue
		}
		out[r.Part].Readings += r.Readings
		if may.May(r.BeforeScope) {
			out[r.Part].Changed += r.Changed
		}
	}
	return out, nil
}

func (s *Store) Horizon(ctx context.Context, reader access.Scope) (time.Time, error) {
	q := s.d.Read(ctx)
	readable, args, err := s.readable(ctx, q, reader, "b.scope_id")
	if err != nil {
		return time.Time{}, err
	}
	if readable != "" {
		readable = " AND " + readable
	}
	at, ok, err := db.QueryRow[int64](ctx, q, "SELECT b.first_at FROM estate_buckets AS b WHERE b.readings > 0"+readable+
		" ORDER BY b.hour, b.first_at"+db.Limit, append(args, 1)...)
	if err != nil || !ok {
		return time.Time{}, db.Wrap(err, "find the oldest reading")
	}
	return time.UnixMicro(at).UTC(), nil
}
