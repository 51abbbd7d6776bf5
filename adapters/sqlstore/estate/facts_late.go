package estate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/estate"
)

// free returns the first time from at on at which no other run has a reading of the host. stored means that the run has
// one until then.
func (r *recorder) free(ctx context.Context, host, at, run int64) (_ int64, stored bool, err error) {
	if err := r.flush(ctx); err != nil {
		return 0, false, err
	}
	for ; ; at++ {
		of, ok, err := db.QueryRow[int64](ctx, r.q,
			"SELECT r.run_id FROM estate_readings AS r WHERE r.host_id = ? AND r.at = ?", host, at)
		if err != nil || !ok || of == run {
			return at, ok && err == nil, err
		}
	}
}

// beside is a reading next to a late one.
type beside struct {
	At, ScopeID int64
	known       bool
	stable      estate.Facts
}

// late inserts a reading before the newest one, and computes the change after it again.
func (r *recorder) late(ctx context.Context, st *state, at int64, of scoped, stable estate.Facts) error {
	before, err := r.beside(ctx, st.HostID, "r.at < ? ORDER BY r.at DESC", at)
	if err != nil {
		return err
	}
	after, err := r.beside(ctx, st.HostID, "r.at > ? ORDER BY r.at", at)
	if err != nil {
		return err
	}
	own := bucketKey{hourOf(at), of.scope, of.scope}
	old := bucketKey{hourOf(after.At), after.ScopeID, after.ScopeID}
	var list []string
	if before.known {
		list, own.before, old.before = difference(before.stable, stable), before.ScopeID, before.ScopeID
	} else {
		st.FirstAt, st.touched = at, true
	}
	was, err := db.Exec(ctx, r.q, "DELETE FROM estate_changes WHERE host_id = ? AND at = ?", st.HostID, after.At)
	if err != nil {
		return err
	}
	r.bump(old, after.At, -1, -was)
	r.append(reading{HostID: st.HostID, At: at, RunID: of.id}, list, own)
	if err := r.again(ctx, st.HostID, after, difference(stable, after.stable), of.scope); err != nil || len(list) == 0 {
		return err
	}
	return r.split(ctx, st.HostID, at, stable)
}

// again counts the reading after a late one once more, with what it changed.
func (r *recorder) again(ctx context.Context, host int64, after beside, list []string, before int64) error {
	changed := int64(0)
	if len(list) > 0 {
		changed = 1
		c := change{HostID: host, At: after.At}
		c.Codec, c.Facts = r.codec.Pack(join(list))
		if err := db.ModelOf[change](r.d).Insert(ctx, r.q, []change{c}, ""); err != nil {
			return err
		}
	}
	r.bump(bucketKey{hourOf(after.At), after.ScopeID, before}, after.At, 1, changed)
	return nil
}

// beside reads the first reading of a condition with its document.
func (r *recorder) beside(ctx context.Context, host int64, condition string, at int64) (beside, error) {
	row, ok, err := db.QueryRow[beside](ctx, r.q, "SELECT r.at, ru.scope_id FROM estate_readings AS r "+
		"JOIN estate_runs AS ru ON ru.id = r.run_id WHERE r.host_id = ? AND "+condition+db.Limit, host, at, 1)
	if err != nil || !ok {
		return beside{}, err
	}
	const one = "SELECT '' AS name, f.host_id, CAST(? AS BIGINT) AS at, f.at AS newest FROM estate_facts AS f " +
		"WHERE f.host_id = ?"
	_, err = r.each(ctx, r.q, one, []any{row.At, host}, nil, func(d document) error {
		row.stable, row.known = d.stable, true
		return nil
	})
	if err == nil && !row.known {
		err = errors.New("it has a reading without a document")
	}
	return row, err
}

// split stores a document if many changes lie between the snapshots around it.
func (r *recorder) split(ctx context.Context, host, at int64, stable estate.Facts) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	n, err := db.Count(ctx, r.q, "SELECT COUNT(*) FROM estate_changes AS c WHERE c.host_id = ? "+
		"AND c.at > COALESCE((SELECT MAX(s.at) FROM estate_snapshots AS s WHERE s.host_id = c.host_id AND s.at <= ?), ?) "+
		"AND c.at <= (SELECT MIN(s.at) FROM estate_snapshots AS s WHERE s.host_id = c.host_id AND s.at >= ?)",
		host, at, -newest, at)
	if err != nil || n < changesPerSnapshot {
		return err
	}
	return db.ModelOf[snapshot](r.d).Insert(ctx, r.q, []snapshot{r.snapshot(host, at, stable, nil)},
		" ON CONFLICT (host_id, at) DO NOTHING")
}

// digest identifies the stable facts of a reading.
type digest [16]byte

func digestOf(packed []byte) digest {
	sum := sha256.Sum256(packed)
	return digest(sum[:16])
}

// pairs lists keys and values, by key.
func pairs(f estate.Facts) []string {
	list := make([]string, 0, 2*len(f))
	for _, k := range slices.Sorted(maps.Keys(f)) {
		list = append(list, k, string(f[k]))
	}
	return list
}

// difference lists the facts that differ, by key: each with its value on both sides, empty where it has none.
func difference(from, to estate.Facts) []string {
	var list []string
	for k, v := range from {
		if string(v) != string(to[k]) {
			list = append(list, k)
		}
	}
	for k := range to {
		if _, ok := from[k]; !ok {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	out := make([]string, 0, 3*len(list))
	for _, k := range list {
		out = append(out, k, string(from[k]), string(to[k]))
	}
	return out
}

// compose adds a later change to the changes of a host.
func compose(all map[string]estate.FactChange, list []string) {
	for i := 0; i+2 < len(list); i += 3 {
		c, ok := all[list[i]]
		if !ok {
			c = estate.FactChange{Key: list[i], From: value(list[i+1])}
		}
		c.To = value(list[i+2])
		all[c.Key] = c
	}
}

// composed lists the changes that differ, by key.
func composed(all map[string]estate.FactChange) []estate.FactChange {
	var out []estate.FactChange
	for _, c := range all {
		if string(c.From) != string(c.To) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b estate.FactChange) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

func value(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// join writes texts one after the other, each after its length.
func join(list []string) []byte {
	size := 0
	for _, s := range list {
		size += len(s) + binary.MaxVarintLen32
	}
	out := make([]byte, 0, size)
	for _, s := range list {
		out = append(binary.AppendUvarint(out, uint64(len(s))), s...)
	}
	return out
}

// texts reverses join and Pack.
func (s *Store) texts(codec int, packed []byte, yield func(text string)) error {
	data, err := s.codec.Unpack(codec, packed)
	if err != nil {
		return err
	}
	whole := string(data) // the texts share it
	for at := 0; at < len(data); {
		n, size := binary.Uvarint(data[at:])
		if size <= 0 || n > uint64(len(data)-at-size) {
			return errors.New("stored facts have an invalid length")
		}
		at += size
		yield(whole[at : at+int(n)])
		at += int(n)
	}
	return nil
}

func (s *Store) list(codec int, packed []byte) (out []string, err error) {
	err = s.texts(codec, packed, func(text string) { out = append(out, text) })
	return out, err
}

// usualFacts is about how many facts a host has.
const usualFacts = 512

// unpack returns the facts of a document that keys select.
func (s *Store) unpack(codec int, packed []byte, keys []string) (estate.Facts, error) {
	n, most := 0, 0
	if len(keys) == 0 {
		most = min(usualFacts, len(packed)/8) // a map that grows is filled several times
	}
	f := make(estate.Facts, most)
	var key string
	err := s.texts(codec, packed, func(text string) {
		if n++; n%2 != 0 {
			key = text
		} else if estate.Selected(key, keys) {
			f[key] = json.RawMessage(text)
		}
	})
	if err == nil && n%2 != 0 {
		err = fmt.Errorf("stored facts have %d keys and values", n)
	}
	return f, err
}
