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
	// maxRows bounds the rows of one statement: SQLite's driver searches all arguments for each one. maxSeqs bounds
	// the sequence numbers in one statement.
	maxRows = 16
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

// inserts makes INSERTs of rows in chunks whose sizes are powers of two: so there are few statement texts, which stay
// prepared.
func inserts[T any](do []db.Statement, m db.Model[T], rows []T) ([]db.Statement, error) {
	for len(rows) > 0 {
		size := maxRows
		for size > len(rows) {
			size /= 2
		}
		query, args, err := m.Insertion(rows[:size], "")
		if err != nil {
			return nil, err
		}
		do, rows = append(do, db.Statement{Query: query, Args: args}), rows[size:]
	}
	return do, nil
}

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
	return inserts(do, s.entries, rows)
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
	return inserts(do, s.privates, rows)
}

// ofRun finds the sequence numbers of a run's own entries. Its conditions repeat those of the indexes: the first part
// finds entries that are not about the run itself, the second part those that are. An entry with the run only as its
// object is not included.
const ofRun = "SELECT seq FROM audit_entries WHERE run = ? AND run <> '' AND object <> 'run/' || run " +
	"UNION SELECT seq FROM audit_entries WHERE object = ? AND object <> '' AND run <> ''"

func runArgs(run string, more ...any) []any { return append([]any{run, "run/" + run}, more...) }

func (s *Store) RunHashes(ctx context.Context, run string) ([][32]byte, error) {
	rows, err := db.Query[head](ctx, s.d.Read(ctx), "SELECT hash FROM audit_entries WHERE seq IN ("+ofRun+") ORDER BY seq",
		runArgs(run)...)
	if err != nil {
		return nil, fmt.Errorf("read the hashes of run %s: %w", run, err)
	}
	var hashes [][32]byte
	for _, r := range rows {
		hashes = append(hashes, r.Hash)
	}
	return hashes, nil
}
