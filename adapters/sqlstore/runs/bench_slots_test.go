package runs

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// keyed gives all pending runs a template of a thousand, with a limit, and a lock of their own.
func keyed(b *testing.B, s *Store, limit int) {
	b.Helper()
	const template = "'template:tpl_' || (seq % 1000)"
	err := s.d.Do(b.Context(), func(ctx context.Context) error {
		q := s.d.InUnit(ctx)
		for _, query := range []string{
			"INSERT INTO slot_limits (key, n) SELECT DISTINCT " + template + ", CAST(? AS INTEGER) FROM runs",
			"INSERT INTO run_slots (run_seq, key, state, rank) SELECT seq, " + template +
				", 0, 0 FROM runs WHERE status = 'pending' AND ? > 0",
			"INSERT INTO run_slots (run_seq, key, state, rank) SELECT seq, 'lock:' || seq, 0, 0 FROM runs " +
				"WHERE status = 'pending' AND ? > 0",
			"UPDATE runs SET gated = TRUE, slotted = TRUE WHERE status = 'pending' AND ? > 0",
		} {
			if _, err := db.Exec(ctx, q, query, limit); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && s.dialect.Engine() == db.Postgres {
		_, err = s.d.Read(b.Context()).ExecContext(b.Context(), "ANALYZE")
	}
	if err != nil {
		b.Fatal(err)
	}
}

func claimOne(b *testing.B, s *Store) *runs.Assignment {
	b.Helper()
	for {
		var got runs.ClaimResult
		err := s.d.Do(b.Context(), func(ctx context.Context) (err error) {
			got, err = s.Claim(ctx, runs.ClaimRequest{Worker: "w", Queues: []string{"default"}}, time.Minute, seedStart)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		if !got.Again {
			return got.Assignment
		}
	}
}

// BenchmarkSlots claims while all runs wait: without keys, with a limit and a lock that are free, and where each claim
// takes the slot that the end of another run has just released.
func BenchmarkSlots(b *testing.B) {
	n := size(b)
	pending := min(n, 100_000)
	claims := func(b *testing.B, s *Store) {
		measure(b, func() {
			if claimOne(b, s) == nil {
				b.Fatal("nothing to claim")
			}
		})
	}
	b.Run("without", func(b *testing.B) { claims(b, open(b, "slots-without", n, pending)) })
	b.Run("free", func(b *testing.B) {
		s := open(b, "slots-free", n, pending)
		keyed(b, s, runs.MaxConcurrent)
		claims(b, s)
	})
	b.Run("handed on", func(b *testing.B) {
		s := open(b, "slots-on", n, pending)
		keyed(b, s, 1)
		var held []*runs.Assignment
		for a := claimOne(b, s); a != nil; a = claimOne(b, s) {
			held = append(held, a)
		}
		var ends time.Duration
		var took []time.Duration
		for b.Loop() {
			before := b.Elapsed()
			err := s.d.Do(b.Context(), func(ctx context.Context) error {
				r, err := s.Move(ctx, runs.Move{ID: held[0].Run.ID, From: runs.Running, To: runs.Succeeded, At: seedStart,
					Lease: &held[0].Lease})
				if err == nil {
					_, _, err = s.Release(ctx, []int64{r.Seq})
				}
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			ended := b.Elapsed()
			held = append(held[1:], claimOne(b, s))
			took, ends = append(took, b.Elapsed()-ended), ends+ended-before
		}
		report(b, took)
		b.ReportMetric(float64(ends.Microseconds())/1000/float64(len(took)), "ms-end")
	})
}
