package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// pieceSize bounds one stored chunk of output, so that a part of a log is read without the rest.
const pieceSize = 256 << 10

// AppendLog implements runs.LogStore.
func (s *Store) AppendLog(ctx context.Context, l runs.Lease, c runs.LogChunk) (runs.LogState, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return runs.LogState{}, err
	}
	end := c.Offset + int64(len(c.Data))
	if c.Offset >= 0 && len(c.Data) > 0 {
		p, err := s.advance(ctx, q, l, "log_bytes", c.Offset, end)
		if err != nil {
			return runs.LogState{}, err
		}
		if p.seq != 0 {
			return runs.LogState{Next: end, Omitted: p.logOmitted, Stored: int64(len(c.Data))}, s.storeLog(ctx, q, p.seq, c)
		}
	}
	return s.appendLogLate(ctx, q, l, c)
}

// appendLogLate handles what does not simply follow: nothing at all, output held already, a hole, a stale lease.
func (s *Store) appendLogLate(ctx context.Context, q bun.IDB, l runs.Lease, c runs.LogChunk) (runs.LogState, error) {
	p, err := s.progressOf(ctx, q, l)
	if err != nil {
		return runs.LogState{}, err
	}
	state := runs.LogState{Next: p.logBytes, Omitted: p.logOmitted}
	end := c.Offset + int64(len(c.Data))
	if c.Offset < 0 || end <= p.logBytes {
		return state, nil
	}
	if held := p.logBytes - c.Offset; held > 0 {
		c.Data, c.Offset = c.Data[held:], p.logBytes
	}
	state.Omitted += c.Offset - p.logBytes
	state.Next, state.Stored = end, int64(len(c.Data))
	if _, err := exec(ctx, q, "UPDATE runs SET log_bytes = ?, log_omitted = ? WHERE seq = ?", state.Next, state.Omitted, p.seq); err != nil {
		return runs.LogState{}, fmt.Errorf("append to the log of run %s: %w", l.RunID, err)
	}
	return state, s.storeLog(ctx, q, p.seq, c)
}

func (s *Store) storeLog(ctx context.Context, q bun.IDB, seq int64, c runs.LogChunk) error {
	start := c.Offset
	for piece := range slices.Chunk(c.Data, pieceSize) {
		codec, data := s.codec.Pack(piece)
		if _, err := exec(ctx, q, "INSERT INTO run_logs (run_seq, start, length, codec, data) VALUES (?, ?, ?, ?, ?)",
			seq, start, len(piece), codec, data); err != nil {
			return fmt.Errorf("store output: %w", err)
		}
		start += int64(len(piece))
	}
	return nil
}

// TrimLog implements runs.LogStore.
func (s *Store) TrimLog(ctx context.Context, l runs.Lease, from, to int64) (runs.LogState, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return runs.LogState{}, err
	}
	p, err := s.progressOf(ctx, q, l)
	if err != nil {
		return runs.LogState{}, err
	}
	cut, err := s.cutLog(ctx, q, p.seq, from, to)
	if err != nil {
		return runs.LogState{}, fmt.Errorf("cut the log of run %s: %w", l.RunID, err)
	}
	dropped, err := dropLog(ctx, q, p.seq, from, to)
	dropped += cut
	if err == nil && dropped > 0 {
		_, err = exec(ctx, q, "UPDATE runs SET log_omitted = log_omitted + ? WHERE seq = ?", dropped, p.seq)
	}
	if err != nil {
		return runs.LogState{}, fmt.Errorf("trim the log of run %s: %w", l.RunID, err)
	}
	return runs.LogState{Next: p.logBytes, Omitted: p.logOmitted + dropped}, nil
}

// cutLog cuts the chunk that begins before from and ends in (from, to] at from, and returns how many bytes it lost.
func (s *Store) cutLog(ctx context.Context, q bun.IDB, seq, from, to int64) (int64, error) {
	var start int64
	var codec int
	var data []byte
	err := q.QueryRowContext(ctx, "SELECT start, codec, data FROM run_logs WHERE run_seq = ? AND start = "+
		"(SELECT max(start) FROM run_logs WHERE run_seq = ? AND start < ?) AND start + length > ? AND start + length <= ?",
		seq, seq, from, from, to).Scan(&start, &codec, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, db.Translate(err)
	}
	if data, err = s.codec.Unpack(codec, data); err != nil {
		return 0, err
	}
	lost := start + int64(len(data)) - from
	codec, data = s.codec.Pack(data[:from-start])
	_, err = exec(ctx, q, "UPDATE run_logs SET length = ?, codec = ?, data = ? WHERE run_seq = ? AND start = ?", from-start, codec, data, seq, start)
	return lost, err
}

// dropLog deletes the chunks that lie wholly in [from, to) and returns how many bytes those held.
func dropLog(ctx context.Context, q bun.IDB, seq, from, to int64) (int64, error) {
	rows, err := q.QueryContext(ctx, "DELETE FROM run_logs WHERE run_seq = ? AND start >= ? AND start < ? AND start + length <= ? RETURNING length",
		seq, from, to, to)
	if err != nil {
		return 0, db.Translate(err)
	}
	var sum int64
	for rows.Next() {
		var n int64
		if err = rows.Scan(&n); err != nil {
			break
		}
		sum += n
	}
	return sum, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}

// ReadLog implements runs.LogStore. Nothing of the database is held while yield runs. RunNotFound.
func (s *Store) ReadLog(ctx context.Context, runID string, from, to int64, yield func(runs.LogChunk) error) error {
	seq, err := s.seqOf(ctx, s.d.Read(ctx), runID, "")
	if err != nil {
		return err
	}
	for from = max(from, 0); from < to; {
		chunks, err := s.logBatch(ctx, seq, from, to)
		if err != nil {
			return fmt.Errorf("read the log of run %s: %w", runID, err)
		}
		if len(chunks) == 0 {
			return nil
		}
		for _, c := range chunks {
			if err := yield(c); err != nil {
				return err
			}
			from = c.Offset + int64(len(c.Data))
		}
	}
	return nil
}

// chunksPerRead is how many chunks are in memory at once, each of at most pieceSize.
const chunksPerRead = 8

// logBatch returns the next few chunks of [from, to), cut to it.
func (s *Store) logBatch(ctx context.Context, seq, from, to int64) ([]runs.LogChunk, error) {
	rows, err := s.d.Read(ctx).QueryContext(ctx, "SELECT start, codec, data FROM run_logs WHERE run_seq = ? AND start < ? "+
		"AND start >= coalesce((SELECT max(start) FROM run_logs WHERE run_seq = ? AND start <= ?), 0) AND start + length > ? "+
		"ORDER BY start LIMIT ?", seq, to, seq, from, from, chunksPerRead)
	if err != nil {
		return nil, db.Translate(err)
	}
	var out []runs.LogChunk
	for err == nil && rows.Next() {
		var c runs.LogChunk
		var codec int
		if err = rows.Scan(&c.Offset, &codec, &c.Data); err != nil {
			break
		}
		if c.Data, err = s.codec.Unpack(codec, c.Data); err == nil {
			out = append(out, cut(c, from, to))
		}
	}
	return out, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}

func cut(c runs.LogChunk, from, to int64) runs.LogChunk {
	if over := c.Offset + int64(len(c.Data)) - to; over > 0 {
		c.Data = c.Data[:int64(len(c.Data))-over]
	}
	if under := from - c.Offset; under > 0 {
		c.Data, c.Offset = c.Data[under:], from
	}
	return c
}
