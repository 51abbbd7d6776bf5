package runs

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// pieceSize bounds one stored chunk of output, so that a part of a log is read without the rest.
const pieceSize = 256 << 10

// logRow holds a piece of a run's output, packed. It is inserted and read by raw SQL because runs do that often and
// raw statements stay prepared.
type logRow struct {
	bun.BaseModel `bun:"table:run_logs"`
	RunSeq        int64
	Start         int64
	Length        int
	Codec         int
	Data          []byte
}

func (s *Store) AppendLog(ctx context.Context, l runs.Lease, c runs.LogChunk) (runs.LogState, error) {
	q := s.d.InUnit(ctx)
	end := c.Offset + int64(len(c.Data))
	if c.Offset >= 0 && len(c.Data) > 0 {
		p, err := s.advance(ctx, q, l, "log_bytes", c.Offset, end)
		if err != nil {
			return runs.LogState{}, err
		}
		if p.Seq != 0 {
			return runs.LogState{Next: end, Omitted: p.LogOmitted, Stored: int64(len(c.Data))}, s.storeLog(ctx, q, p.Seq, c)
		}
	}
	return s.appendLogLate(ctx, q, l, c)
}

// appendLogLate handles output that does not continue the log: none at all, stored output, a gap, an invalid lease.
func (s *Store) appendLogLate(ctx context.Context, q bun.IDB, l runs.Lease, c runs.LogChunk) (runs.LogState, error) {
	p, err := s.progressOf(ctx, q, l)
	if err != nil {
		return runs.LogState{}, err
	}
	state := runs.LogState{Next: p.LogBytes, Omitted: p.LogOmitted}
	end := c.Offset + int64(len(c.Data))
	if c.Offset < 0 || end <= p.LogBytes {
		return state, nil
	}
	if held := p.LogBytes - c.Offset; held > 0 {
		c.Data, c.Offset = c.Data[held:], p.LogBytes
	}
	state.Omitted += c.Offset - p.LogBytes
	state.Next, state.Stored = end, int64(len(c.Data))
	if _, err := db.Exec(ctx, q, "UPDATE runs SET log_bytes = ?, log_omitted = ? WHERE seq = ?", state.Next, state.Omitted,
		p.Seq); err != nil {
		return runs.LogState{}, fmt.Errorf("append to the log of run %s: %w", l.RunID, err)
	}
	return state, s.storeLog(ctx, q, p.Seq, c)
}

func (s *Store) storeLog(ctx context.Context, q bun.IDB, seq int64, c runs.LogChunk) error {
	start := c.Offset
	for piece := range slices.Chunk(c.Data, pieceSize) {
		codec, data := s.codec.Pack(piece)
		if err := s.models.logs.Insert(ctx, q,
			[]logRow{{RunSeq: seq, Start: start, Length: len(piece), Codec: codec, Data: data}}, ""); err != nil {
			return fmt.Errorf("store output: %w", err)
		}
		start += int64(len(piece))
	}
	return nil
}

func (s *Store) TrimLog(ctx context.Context, l runs.Lease, from, to int64) (runs.LogState, error) {
	q := s.d.InUnit(ctx)
	p, err := s.progressOf(ctx, q, l)
	if err != nil {
		return runs.LogState{}, err
	}
	cut, err := s.cutLog(ctx, q, p.Seq, from, to)
	if err != nil {
		return runs.LogState{}, fmt.Errorf("cut the log of run %s: %w", l.RunID, err)
	}
	dropped, err := dropLog(ctx, q, p.Seq, from, to)
	dropped += cut
	if err == nil && dropped > 0 {
		_, err = db.Exec(ctx, q, "UPDATE runs SET log_omitted = log_omitted + ? WHERE seq = ?", dropped, p.Seq)
	}
	if err != nil {
		return runs.LogState{}, fmt.Errorf("trim the log of run %s: %w", l.RunID, err)
	}
	return runs.LogState{Next: p.LogBytes, Omitted: p.LogOmitted + dropped}, nil
}

// cutLog cuts the chunk that begins before from and ends in (from, to] at from, and returns how many bytes it lost.
func (s *Store) cutLog(ctx context.Context, q bun.IDB, seq, from, to int64) (int64, error) {
	list, err := db.Query[struct {
		Start int64
		Codec int
		Data  []byte
	}](ctx, q, "SELECT start, codec, data FROM run_logs WHERE run_seq = ? AND start = "+
		"(SELECT max(start) FROM run_logs WHERE run_seq = ? AND start < ?) AND start + length > ? AND start + length <= ?",
		seq, seq, from, from, to)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	chunk := list[0]
	data, err := s.codec.Unpack(chunk.Codec, chunk.Data)
	if err != nil {
		return 0, err
	}
	lost := chunk.Start + int64(len(data)) - from
	codec, data := s.codec.Pack(data[:from-chunk.Start])
	_, err = db.Exec(ctx, q, "UPDATE run_logs SET length = ?, codec = ?, data = ? WHERE run_seq = ? AND start = ?",
		from-chunk.Start, codec, data, seq, chunk.Start)
	return lost, err
}

// dropLog deletes the chunks that are completely in [from, to) and returns their number of bytes.
func dropLog(ctx context.Context, q bun.IDB, seq, from, to int64) (int64, error) {
	lengths, err := db.Query[int64](ctx, q,
		"DELETE FROM run_logs WHERE run_seq = ? AND start >= ? AND start < ? AND start + length <= ? RETURNING length",
		seq, from, to, to)
	var sum int64
	for _, n := range lengths {
		sum += n
	}
	return sum, err
}

// ReadLog holds no database resource while yield runs. It returns RunNotFound for an unknown run.
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

// logBatch returns the next few chunks of [from, to), cut to that range.
func (s *Store) logBatch(ctx context.Context, seq, from, to int64) ([]runs.LogChunk, error) {
	rows, err := db.Query[logRow](ctx, s.d.Read(ctx),
		"SELECT start, codec, data FROM run_logs WHERE run_seq = ? AND start < ? "+
			"AND start >= coalesce((SELECT max(start) FROM run_logs WHERE run_seq = ? AND start <= ?), 0) AND start + length "+
			"> ? ORDER BY start"+db.Limit, seq, to, seq, from, from, chunksPerRead)
	if err != nil {
		return nil, err
	}
	var out []runs.LogChunk
	for _, r := range rows {
		data, err := s.codec.Unpack(r.Codec, r.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, cut(runs.LogChunk{Offset: r.Start, Data: data}, from, to))
	}
	return out, nil
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
