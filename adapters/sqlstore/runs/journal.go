package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of one stored batch of events.
const (
	eventsPerRow = 500
	maxEvents    = 5000 // of one answer
)

// eventRow holds events of a run, packed. They are inserted and read by raw SQL because runs do that often and raw
// statements stay prepared.
type eventRow struct {
	bun.BaseModel     `bun:"table:run_events"`
	RunSeq            int64
	FirstSeq, LastSeq int64
	Codec             int
	Data              []byte
}

func (s *Store) AppendEvents(ctx context.Context, l runs.Lease, events []runs.Event) (int64, error) {
	q := s.d.InUnit(ctx)
	for i := 1; i < len(events); i++ {
		if events[i].Seq != events[i-1].Seq+1 {
			return 0, sequenceGap(events[i-1].Seq+1, events[i].Seq)
		}
	}
	if len(events) > 0 {
		first, last := events[0].Seq, events[len(events)-1].Seq
		p, err := s.advance(ctx, q, l, "event_count", first-1, last)
		if err != nil {
			return 0, err
		}
		if p.Seq != 0 {
			return last + 1, s.storeEvents(ctx, q, p.Seq, events)
		}
	}
	return s.appendLate(ctx, q, l, events)
}

// advance changes a counter of a run from from to to under its lease. The result has no Seq if the counter has
// another value or the lease is over.
func (s *Store) advance(
	ctx context.Context, q bun.IDB, l runs.Lease, counter string, from, to int64,
) (progress, error) {
	p, _, err := db.QueryRow[progress](ctx, q,
		"UPDATE runs SET "+counter+" = ? WHERE "+underLease+" AND "+counter+" = ? RETURNING seq, log_omitted",
		append(append([]any{to}, leaseArgs(l)...), from)...)
	if err != nil {
		return progress{}, fmt.Errorf("advance run %s: %w", l.RunID, err)
	}
	return p, nil
}

// progress holds the counters of a run's journal.
type progress struct {
	Seq, EventCount, LogBytes, LogOmitted int64
}

// progressOf reads the counters of a run under its lease, and locks its row.
func (s *Store) progressOf(ctx context.Context, q bun.IDB, l runs.Lease) (progress, error) {
	p, ok, err := db.QueryRow[progress](ctx, q,
		"SELECT seq, event_count, log_bytes, log_omitted FROM runs WHERE "+underLease+s.dialect.ForUpdate(),
		leaseArgs(l)...)
	if err != nil {
		return p, fmt.Errorf("read run %s: %w", l.RunID, err)
	}
	if !ok {
		return p, s.lost(ctx, q, l)
	}
	return p, nil
}

// appendLate handles events that do not continue the journal: none at all, stored ones, a gap, an invalid lease.
func (s *Store) appendLate(ctx context.Context, q bun.IDB, l runs.Lease, events []runs.Event) (int64, error) {
	p, err := s.progressOf(ctx, q, l)
	if err != nil {
		return 0, err
	}
	fresh := slices.IndexFunc(events, func(e runs.Event) bool { return e.Seq > p.EventCount })
	if fresh < 0 {
		return p.EventCount + 1, nil
	}
	events = events[fresh:]
	if events[0].Seq != p.EventCount+1 {
		return 0, sequenceGap(p.EventCount+1, events[0].Seq)
	}
	last := events[len(events)-1].Seq
	if _, err := db.Exec(ctx, q, "UPDATE runs SET event_count = ? WHERE seq = ?", last, p.Seq); err != nil {
		return 0, err
	}
	return last + 1, s.storeEvents(ctx, q, p.Seq, events)
}

func sequenceGap(want, got int64) error {
	return runs.SequenceGap.New("event %d is next, not %d", want, got)
}

// storeEvents stores events that the run's row already counts.
func (s *Store) storeEvents(ctx context.Context, q bun.IDB, seq int64, events []runs.Event) error {
	rows, err := s.eventRows(seq, events)
	if err == nil {
		err = s.models.events.Insert(ctx, q, rows, "")
	}
	return db.Wrap(err, "store events")
}

// storeEventsLast is storeEvents at the end of the unit.
func (s *Store) storeEventsLast(ctx context.Context, seq int64, events []runs.Event) error {
	rows, err := s.eventRows(seq, events)
	if err == nil {
		err = s.models.events.InsertAtEnd(ctx, s.d, rows...)
	}
	return db.Wrap(err, "store events")
}

func (s *Store) eventRows(seq int64, events []runs.Event) ([]eventRow, error) {
	var rows []eventRow
	for part := range slices.Chunk(events, eventsPerRow) {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for i := range part {
			if err := enc.Encode(&part[i]); err != nil {
				return nil, fmt.Errorf("make event %d: %w", part[i].Seq, err)
			}
		}
		codec, data := s.codec.Pack(b.Bytes())
		rows = append(rows, eventRow{RunSeq: seq, FirstSeq: part[0].Seq, LastSeq: part[len(part)-1].Seq, Codec: codec,
			Data: data})
	}
	return rows, nil
}

// Events returns at most 5,000 events. It skips events that retention deleted.
func (s *Store) Events(ctx context.Context, runID string, after int64, limit int) ([]runs.Event, error) {
	q := s.d.Read(ctx)
	seq, err := s.seqOf(ctx, q, runID, "")
	if err != nil {
		return nil, err
	}
	limit = min(limit, maxEvents)
	var out []runs.Event
	for limit > len(out) {
		had := len(out)
		if out, err = s.eventBatch(ctx, q, seq, out, after, limit); err != nil {
			return nil, fmt.Errorf("read the events of run %s: %w", runID, err)
		}
		if len(out) == had {
			break
		}
		after = out[len(out)-1].Seq
	}
	return out, nil
}

// rowsPerRead is how many batches of events are read at once. It is part of the statement, because SQLite plans a
// statement again whenever its limit is bound.
const rowsPerRead = "32"

// eventBatch appends the events after a sequence number from the next few rows, until there are as many as the limit.
// It finds the row with the next event by the index, so that a late page takes as long as the first, and decodes no
// more rows than it needs, since a page is often a small part of them.
func (s *Store) eventBatch(
	ctx context.Context, q bun.IDB, seq int64, out []runs.Event, after int64, limit int,
) ([]runs.Event, error) {
	rows, err := db.Query[eventRow](ctx, q, "SELECT codec, data FROM run_events WHERE run_seq = ? AND first_seq >= "+
		"coalesce((SELECT max(first_seq) FROM run_events WHERE run_seq = ? AND first_seq <= ?), 0) AND last_seq > ? "+
		"ORDER BY first_seq LIMIT "+rowsPerRead, seq, seq, after+1, after)
	for i := 0; err == nil && i < len(rows) && len(out) < limit; i++ {
		out, err = s.decodeEvents(out, rows[i].Codec, rows[i].Data, after)
	}
	return out[:min(len(out), limit)], err
}

func (s *Store) decodeEvents(out []runs.Event, codec int, packed []byte, after int64) ([]runs.Event, error) {
	data, err := s.codec.Unpack(codec, packed)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var e runs.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read a stored event: %w", err)
		}
		if e.Seq > after {
			out = append(out, e)
		}
	}
	return out, nil
}
