package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// Append uses raw SQL because every recorded request waits for the row of the head: a repeated text stays prepared,
// and on Postgres all of it is one round trip.

const (
	// maxLeaf bounds the bytes of a leaf.
	maxLeaf = 16 << 10
	// maxSeqs bounds the sequence numbers in one statement.
	maxSeqs = 500
)

// head is the end of the chain, the only row of its table.
type head struct {
	bun.BaseModel `bun:"table:audit_head,alias:h"`
	ID            int64 `bun:",pk"`
	Size          int64
	Hash          [32]byte
}

// The inner query locks the row and returns it only with the lock: the outer query reads the clock after that.
func (s *Store) Lock(ctx context.Context) (audit.Tip, time.Time, error) {
	q := s.d.InUnit(ctx)
	row, ok, err := db.QueryRow[lockedHead](ctx, q,
		"SELECT h.size, h.hash, ? AS at FROM (SELECT size, hash FROM audit_head WHERE id = 1"+s.dialect.ForUpdate()+") AS h",
		s.dialect.WallNow())
	if err = found(ok, err); err != nil {
		return audit.Tip{}, time.Time{}, fmt.Errorf("lock the chain: %w", err)
	}
	return audit.Tip{Size: row.Size, Hash: row.Hash}, row.At, nil
}

// lockedHead is the head with the time of the lock.
type lockedHead struct {
	Size int64
	Hash [32]byte
	At   time.Time
}

// found turns a missing head into a fault: the row has existed since its table was made.
func found(ok bool, err error) error {
	if err == nil && !ok {
		return internal("the chain has no head")
	}
	return err
}

func (s *Store) Tip(ctx context.Context) (audit.Tip, error) {
	row := head{ID: 1}
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).WherePK())
	if err = found(ok, err); err != nil {
		return audit.Tip{}, fmt.Errorf("read the head of the chain: %w", err)
	}
	return audit.Tip{Size: row.Size, Hash: row.Hash}, nil
}

// The head moves first, and the update fails unless the head is the one that the entries continue: so such an append
// always returns an error.
func (s *Store) Append(ctx context.Context, entries []audit.Stored) error {
	q, err := s.d.Write(ctx)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := check(entries); err != nil {
		return err
	}
	before, last := entries[0].Seq-1, &entries[len(entries)-1]
	do := make([]db.Statement, 1, 4)
	do[0] = db.Statement{
		Query: "UPDATE audit_head SET size = CASE WHEN size = ? THEN ? END, hash = ? WHERE id = 1",
		Args:  []any{before, last.Seq, last.Hash[:]},
	}
	if do, err = s.appendPrivate(do, entries); err == nil {
		do, err = s.appendPublic(do, entries)
	}
	if err != nil {
		return err
	}
	n, err := s.dialect.Together(ctx, q, do...)
	var f *fault.Error
	switch err = db.Translate(err); {
	case errors.As(err, &f) && (f.Kind == fault.Internal || f.Kind == fault.Conflict):
		return fault.Wrap(fault.Internal, err, "entries from %d on do not continue the chain", entries[0].Seq)
	case err != nil:
		return fmt.Errorf("append to the chain: %w", err)
	case n == 0:
		return internal("the chain took no entry")
	}
	return nil
}

// check refuses entries that are not contiguous, and values that one of the engines would not return byte for byte.
func check(entries []audit.Stored) error {
	for i := range entries {
		e := &entries[i]
		if e.Seq < 1 || e.Seq != entries[0].Seq+int64(i) {
			return internal("entry %d of the chain is at the place of entry %d", e.Seq, entries[0].Seq+int64(i))
		}
		if e.Leaf == "" || len(e.Leaf) > maxLeaf {
			return internal("the leaf of entry %d has %d bytes, not 1 to %d", e.Seq, len(e.Leaf), maxLeaf)
		}
		fine := text(e.Leaf) && text(e.ID) && text(e.At) && text(e.Action) && text(e.Actor) && text(e.Object) &&
			text(e.Run) && text(e.Detail)
		if !fine || slices.ContainsFunc(e.Disclosures, func(d string) bool { return !text(d) }) {
			return internal("entry %d of the chain holds a value that is not text", e.Seq)
		}
	}
	return nil
}

// text reports whether a text column stores the value unchanged.
func text(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// entry is a row of the chain.
type entry struct {
	bun.BaseModel `bun:"table:audit_entries"`
	entryColumns
}

// entryColumns is an audit.Stored with the names of its columns.
type entryColumns struct {
	Seq         int64
	Leaf        string
	Hash        [32]byte
	ID          string
	At          string
	Action      string
	Actor       string
	Object      string
	Run         string
	Disclosures []string `bun:"-"`
	Detail      string   `bun:"-"`
}

func (s *Store) appendPublic(do []db.Statement, entries []audit.Stored) ([]db.Statement, error) {
	rows := make([]entry, len(entries))
	for i := range entries {
		rows[i].entryColumns = entryColumns(entries[i])
	}
	list, err := s.entries.Insertions(rows)
	return append(do, list...), err
}

func (s *Store) appendPrivate(do []db.Statement, entries []audit.Stored) ([]db.Statement, error) {
	var rows []private
	for i := range entries {
		e := &entries[i]
		if len(e.Disclosures) == 0 && e.Detail == "" {
			continue
		}
		row := private{Seq: e.Seq, Detail: e.Detail}
		if len(e.Disclosures) > 0 {
			raw, err := json.Marshal(e.Disclosures)
			if err != nil {
				return nil, fmt.Errorf("write the disclosures of entry %d: %w", e.Seq, err)
			}
			row.Disclosures = string(raw)
		}
		rows = append(rows, row)
	}
	list, err := s.privates.Insertions(rows)
	return append(do, list...), err
}

// ofRun finds the sequence numbers of a run's own entries. Its conditions repeat those of the indexes: the first part
// finds entries that are not about the run itself, the second part those that are. An entry with the run only as its
// object is not included.
const ofRun = "SELECT seq FROM audit_entries WHERE run = ? AND run <> '' AND object <> 'run/' || run " +
	"UNION SELECT seq FROM audit_entries WHERE object = ? AND object <> '' AND run <> ''"

func runArgs(run string, more ...any) []any { return append([]any{run, "run/" + run}, more...) }

// hashesOf is ofRun with the hashes and the name of the run. No entry matches both parts.
const hashesOf = "SELECT seq, hash, ? AS belongs FROM audit_entries WHERE run = ? AND run <> '' " +
	"AND object <> 'run/' || run UNION ALL " +
	"SELECT seq, hash, ? FROM audit_entries WHERE object = ? AND object <> '' AND run <> ''"

// ownHash is the hash of an entry and the run to which it belongs.
type ownHash struct {
	Hash    [32]byte
	Belongs string
}

// RunHashes reads few runs with each statement, whose texts repeat and so stay prepared.
func (s *Store) RunHashes(ctx context.Context, runs []string) (map[string][][32]byte, error) {
	hashes := make(map[string][][32]byte, len(runs))
	for part := range db.Powers(runs) {
		args := make([]any, 0, 4*len(part))
		for _, run := range part {
			args = append(args, run, run, run, "run/"+run)
		}
		rows, err := db.Query[ownHash](ctx, s.d.Read(ctx), "SELECT h.hash, h.belongs FROM ("+hashesOf+
			strings.Repeat(" UNION ALL "+hashesOf, len(part)-1)+") AS h ORDER BY h.seq", args...)
		if err != nil {
			return nil, fmt.Errorf("read the hashes of %d runs: %w", len(part), err)
		}
		for i := range rows {
			hashes[rows[i].Belongs] = append(hashes[rows[i].Belongs], rows[i].Hash)
		}
	}
	return hashes, nil
}
