package estate

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/estate"
)

// kind is what the results of a ring are about.
type kind int

const (
	ofHost kind = 1
	ofTask kind = 2
)

// table has the names of the subjects.
func (k kind) table() string {
	if k == ofHost {
		return "estate_hosts"
	}
	return "estate_tasks"
}

// entry is a result in a ring: when the run ended in microseconds, its number, and an outcome or a duration.
type entry struct{ ended, run, value int64 }

// newer sorts the newest first. Of runs that ended at once, the one that was reported last is newer.
func newer(a, b entry) int { return cmp.Or(cmp.Compare(b.ended, a.ended), cmp.Compare(b.run, a.run)) }

// maxEntry bounds the bytes of an entry.
const maxEntry = 3 * binary.MaxVarintLen64

// packRing writes entries, the newest first, as their differences: about nine bytes each.
func packRing(list []entry) []byte {
	out, last := make([]byte, 0, 10*len(list)), entry{}
	for i, e := range list {
		ended := e.ended
		if i > 0 {
			ended = last.ended - e.ended
		}
		out = binary.AppendUvarint(out, uint64(ended))
		out = binary.AppendVarint(out, e.run-last.run)
		out = binary.AppendUvarint(out, uint64(e.value))
		last = e
	}
	return out
}

// unpackRing appends at most n entries of a ring that may be cut after maxEntry bytes for each of them.
func unpackRing(out []entry, ring []byte, n int) ([]entry, error) {
	last := entry{}
	for i := 0; i < n && len(ring) > 0; i++ {
		ended, a := binary.Uvarint(ring)
		run, b := binary.Varint(ring[max(a, 0):])
		value, c := binary.Uvarint(ring[max(a, 0)+max(b, 0):])
		if a <= 0 || b <= 0 || c <= 0 {
			return nil, errors.New("a ring of results is damaged")
		}
		e := entry{ended: int64(ended), run: last.run + run, value: int64(value)}
		if i > 0 {
			e.ended = last.ended - e.ended
		}
		out, ring, last = append(out, e), ring[a+b+c:], e
	}
	return out, nil
}

type ringRow struct {
	bun.BaseModel `bun:"table:estate_rings"`
	Kind          kind  `bun:",pk"`
	SubjectID     int64 `bun:",pk"`
	ScopeID       int64 `bun:",pk"`
	Ring          []byte
}

// push adds one entry to the ring of each subject in a scope. The caller holds the lock of the results.
func (s *Store) push(ctx context.Context, q bun.IDB, k kind, scope int64, entries map[int64]entry) error {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(entries)), namesPerStatement) {
		var old []ringRow
		if err := q.NewSelect().Model(&old).Column("subject_id", "ring").
			Where("kind = ? AND scope_id = ? AND subject_id IN (?)", k, scope, bun.In(part)).Scan(ctx); err != nil {
			return db.Wrap(err, "read rings of results")
		}
		rings := make(map[int64][]byte, len(old))
		for _, r := range old {
			rings[r.SubjectID] = r.Ring
		}
		rows := make([]ringRow, len(part))
		for i, id := range part {
			list, err := unpackRing(nil, rings[id], estate.MaxWindow)
			if err != nil {
				return err
			}
			at, _ := slices.BinarySearchFunc(list, entries[id], newer)
			list = slices.Insert(list, at, entries[id])
			rows[i] = ringRow{Kind: k, SubjectID: id, ScopeID: scope, Ring: packRing(list[:min(len(list), estate.MaxWindow)])}
		}
		if _, err := db.Modify(ctx, q.NewInsert().Model(&rows).
			On("CONFLICT (kind, subject_id, scope_id) DO UPDATE")); err != nil {
			return fmt.Errorf("store rings of results: %w", err)
		}
	}
	return nil
}

// subject is a host or a task with its newest results that a reader may read.
type subject struct {
	id      int64
	name    string
	results []entry
}

// selection selects subjects by a part of the name, in any case, or by number.
type selection struct {
	kind   kind
	window int
	search string
	ids    []int64 // nil for all
}

// eachSubject calls yield with the subjects that have results which the reader may read, by number. The results are
// valid until the next call. It keeps one subject in memory.
func (s *Store) eachSubject(
	ctx context.Context, q bun.IDB, sel selection, reader *scopes.Reader, yield func(subject) error,
) error {
	query, args := "SELECT h.id, h.name, r.scope_id, substr(r.ring, 1, ?) FROM estate_rings AS r CROSS JOIN "+
		sel.kind.table()+" AS h WHERE r.kind = ? AND h.id = r.subject_id", []any{sel.window * maxEntry, int(sel.kind)}
	if sel.ids != nil {
		query, args = query+" AND r.subject_id IN (?)", append(args, bun.In(sel.ids))
	}
	rows, err := q.QueryContext(ctx, query+" ORDER BY r.subject_id", args...)
	if err != nil {
		return db.Wrap(err, "read results")
	}
	search := strings.ToLower(sel.search)
	var now subject
	end := func() error {
		if len(now.results) == 0 {
			return nil
		}
		slices.SortFunc(now.results, newer)
		now.results = now.results[:min(len(now.results), sel.window)]
		return yield(now)
	}
	var id, scope int64
	var name string
	var ring sql.RawBytes
	for err == nil && rows.Next() {
		if err = rows.Scan(&id, &name, &scope, &ring); err != nil {
			break
		}
		if id != now.id {
			err = end()
			now = subject{id: id, name: name, results: now.results[:0]}
		}
		if err == nil && reader.May(scope) && (search == "" || strings.Contains(strings.ToLower(name), search)) {
			now.results, err = unpackRing(now.results, ring, sel.window)
		}
	}
	err = errors.Join(err, rows.Err(), rows.Close())
	if err == nil {
		err = end()
	}
	return db.Wrap(err, "read results")
}

// ranked is the place of a subject: by two numbers, the largest first, and by name.
type ranked struct {
	id    int64
	name  string
	ranks [2]int64
}

func (r ranked) compare(o ranked) int {
	return cmp.Or(cmp.Compare(o.ranks[0], r.ranks[0]), cmp.Compare(o.ranks[1], r.ranks[1]), cmp.Compare(r.name, o.name))
}

// best keeps the first n of what is added, in at most twice that many places.
type best struct {
	n    int
	list []ranked
}

func (b *best) add(r ranked) {
	b.list = append(b.list, r)
	if len(b.list) >= 2*max(b.n, namesPerStatement) {
		b.sorted()
	}
}

func (b *best) sorted() []ranked {
	slices.SortFunc(b.list, ranked.compare)
	b.list = b.list[:min(len(b.list), b.n)]
	return b.list
}

// rank returns a page of subjects with the results that decided their place, and the number of all.
func (s *Store) rank(
	ctx context.Context, q bun.IDB, k kind, f estate.FleetQuery, reader *scopes.Reader, ranks func([]entry) [2]int64,
) (list []subject, total int, err error) {
	sel := selection{kind: k, window: f.Window, search: f.Search}
	if f.Host != "" {
		h, found, err := hostNamed(ctx, q, f.Host)
		if err != nil || !found {
			return nil, 0, err
		}
		sel.ids = []int64{h.ID}
	}
	first := best{n: min(f.Offset, math.MaxInt32) + f.Limit}
	err = s.eachSubject(ctx, q, sel, reader, func(x subject) error {
		total++
		first.add(ranked{x.id, x.name, ranks(x.results)})
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	sorted := first.sorted()
	sorted = sorted[min(f.Offset, len(sorted)):]
	found := make(map[int64]subject, len(sorted))
	for part := range slices.Chunk(sorted, namesPerStatement) {
		sel.ids = make([]int64, len(part))
		for i, r := range part {
			sel.ids[i] = r.id
		}
		if err := s.eachSubject(ctx, q, sel, reader, func(x subject) error {
			x.results = slices.Clone(x.results)
			found[x.id] = x
			return nil
		}); err != nil {
			return nil, 0, err
		}
	}
	for _, r := range sorted {
		if x, ok := found[r.id]; ok { // else it was trimmed since
			list = append(list, x)
		}
	}
	return list, total, nil
}
