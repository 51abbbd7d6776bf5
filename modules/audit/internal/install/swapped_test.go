package install_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit"
)

// swapped is a chain in which two entries have changed places during the reads up to the given one.
type swapped struct {
	*sqlaudit.Store
	reads, until int
}

func (s *swapped) Range(ctx context.Context, from, to int64, private bool, fn func(e *audit.Stored) error) error {
	s.reads++
	var found []audit.Stored
	err := s.Store.Range(ctx, 1, 1<<30, private, func(e *audit.Stored) error {
		found = append(found, *e)
		return nil
	})
	if err != nil {
		return err
	}
	if a, b := &found[1], &found[2]; s.reads <= s.until {
		*a, *b = *b, *a
		a.Seq, b.Seq = b.Seq, a.Seq
	}
	for i := range found {
		if e := &found[i]; e.Seq >= from && e.Seq <= to {
			if err := fn(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestEntriesThatComeBackAreNotSigned begins with a chain that somebody has altered, and restores it after each of the
// reads of the first signing: either nothing is signed or the head of the chain.
func TestEntriesThatComeBackAreNotSigned(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{false, true} {
		d := dbtest.Open(t, db.SQLite, migrations.FS)
		pem := pemOf(t)
		s := serve(d, pem, nil)
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.grow(t, 4)
		if stored {
			if _, err := s.Retain(t.Context(), s.head(t), time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		s.grow(t, 2)
		want := s.head(t)
		for until := range 8 {
			c := clock.New()
			chain := &swapped{Store: s.store, until: until}
			again := install.New(install.Params{
				Unit: d, Identity: s.store, Chain: s.store, Reader: chain, Anchors: s.store, Tree: treelog.New(chain, s.store),
				Recorder: s.rec, Clock: c, IDs: ids.New(c), Log: slog.New(s.warns),
				Config: install.Config{Site: "writ", SigningPEM: pem},
			})
			if h, err := again.Checkpoint(t.Context()); err == nil && h.Root != want.Root {
				t.Errorf("altered during %d reads, with a stored head: %v: another head is signed", until, stored)
			}
			chain.until = 0
			if h, err := again.Checkpoint(t.Context()); err != nil || h.Root != want.Root {
				t.Errorf("altered during %d reads: later it says %v", until, err)
			}
		}
	}
}
