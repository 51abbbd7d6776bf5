package audit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
)

// forgeHead closes the first epoch at a size like an accepted rollback, with all of its traces in the database.
func (p *process) forgeHead(t *testing.T, size int64, note string) {
	t.Helper()
	epochs, err := p.store.Epochs(t.Context())
	must(t, err)
	root, err := treelog.New(p.store, p.store).Root(t.Context(), size)
	must(t, err)
	first := epochs[0]
	first.Closed, first.LastSize, first.LastRoot = true, size, root
	next := audit.Epoch{N: 2, Origin: strings.TrimSuffix(first.Origin, "1") + "2", FirstSeq: size + 1, Reason: "forged"}
	must(t, p.d.Do(t.Context(), func(ctx context.Context) error {
		a := audit.Anchor{ID: "anc_forged", Kind: audit.KindCheckpoint, Epoch: 2, Size: size, Root: root, MadeAt: time.Now()}
		a.Note = strings.ReplaceAll(note, first.Origin, next.Origin)
		return errors.Join(p.store.PutEpoch(ctx, first), p.store.PutEpoch(ctx, next), p.store.PutAnchor(ctx, a),
			p.Recorder.Record(ctx, audit.Entry{Action: audit.ServiceEpoch, Object: audit.Object{Kind: "epoch", ID: "2"}}))
	}))
}

// TestAForgedRollback checks that a rollback forged in the database alone hides no head of a worker.
func TestAForgedRollback(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		held := p.to(t, 12)
		p.restored(t, 7)
		p.forgeHead(t, 7, held)
		p.sql(t, "DELETE FROM audit_anchors")
		p, keyless := s.starts(t), s.joins(t, nil)
		p.checkHead(t, "")
		keyless.show(t, "w1", held)
		p.show(t, "w2", held)
		p.checkHead(t, "worker/12/tail_missing")
		keyless.checkHead(t, "worker/12/tail_missing")
		if n := p.log.count() + keyless.log.count(); n != 1 || len(p.presented(t)) != 1 {
			t.Errorf("%d errors, %d are kept", n, len(p.presented(t)))
		}
		s.refuses(t)
		p = s.accepts(t)
		keyless = s.joins(t, nil)
		p.show(t, "w2", held)
		keyless.show(t, "w1", held)
		p.checkHead(t, "")
		keyless.checkHead(t, "")
		if s.starts(t); p.log.count()+keyless.log.count() != 0 {
			t.Error("it is told again")
		}
	})
}

// TestAForgedRollbackAfterATrueOne deletes the head of a true rollback: servers that know of the true one still treat
// its heads as abandoned, other servers report them, as with the head file.
func TestAForgedRollbackAfterATrueOne(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		first := p.to(t, 12)
		p.restored(t, 7)
		p.show(t, "w1", first)
		p = s.accepts(t)
		p.show(t, "w1", first)
		second := p.to(t, 15)
		p.sql(t, "DELETE FROM audit_anchors")
		must(t, p.CutAfter(t.Context(), 10))
		p.sql(t, "UPDATE audit_epochs SET closed = ?, last_size = 9, last_root = ? WHERE n = 2", true, make([]byte, 32))
		p.sql(t, "INSERT INTO audit_epochs (n, origin, first_seq, closed, last_size, last_root, reason) SELECT 3, "+
			"replace(origin, '/e2', '/e3'), 10, ?, 0, last_root, '' FROM audit_epochs WHERE n = 2", false)
		s.clock.later(time.Hour)
		p.show(t, "w1", first, second)
		if list := p.presented(t); len(list) != 1 || list[0].Epoch != 2 || list[0].Size != 15 {
			t.Errorf("%+v", list)
		}
		s.refuses(t)
	})
}

// TestKeysThatTheStoreHasForgotten checks that this server's own key identifies its heads.
func TestKeysThatTheStoreHasForgotten(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		held := p.to(t, 12)
		p.restored(t, 7)
		p.sql(t, "DELETE FROM audit_keys")
		other := &signing{m: &memory{}}
		must(t, s.joins(t, other).Opening.Open(t.Context())) // registers its own key
		p = s.joins(t, s.key)
		p.show(t, "w1", held)
		if len(p.presented(t)) != 1 || p.log.count() != 1 {
			t.Errorf("%d are kept, %d errors", len(p.presented(t)), p.log.count())
		}
		if err := s.joins(t, other).Heads.Show(t.Context(), "w1", []string{held}); !audit.ForeignHead.Is(err) {
			t.Errorf("a server with another key: %v", err)
		}
		s.refuses(t)
		p = s.accepts(t)
		p.show(t, "w1", held)
		p.checkHead(t, "")
		if p.to(t, 12); p.log.count() != 0 {
			t.Error("it is told again")
		}
	})
}

// TestARetiredKey covers a key that signed an abandoned head and was retired at the size that was kept.
func TestARetiredKey(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		old := s.key.m.key
		held := p.to(t, 12)
		_, err := p.Admin.Rotate(t.Context(), s.key.Save)
		must(t, err)
		newer := p.to(t, 20)
		p.restored(t, 7)
		p.sql(t, "DELETE FROM audit_keys")
		must(t, s.joins(t, &signing{m: &memory{key: old}}).Opening.Open(t.Context())) // the copy is older
		p = s.joins(t, s.key)
		p.show(t, "w1", held, newer)
		if len(p.presented(t)) != 2 || p.log.count() != 2 {
			t.Errorf("%d are kept, %d errors", len(p.presented(t)), p.log.count())
		}
		s.refuses(t)
		p = s.accepts(t)
		p.show(t, "w1", held, newer)
		p.checkHead(t, "")
		s.starts(t)
	})
}

// TestADamagedChain checks that a broken chain satisfies no head, and that a worker's head is still stored.
func TestADamagedChain(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		held := p.to(t, 12)
		must(t, p.EditLeaf(t.Context(), 8, rewritten("applied", "denied")))
		p.show(t, "w1", held)
		if list := p.presented(t); len(list) != 1 || len(list[0].Evidence) == 0 || p.log.count() != 1 {
			t.Errorf("%+v, %d errors", list, p.log.count())
		}
		if note := p.newest(t, s); note != "" {
			t.Errorf("told is %q", note)
		}
		if v := p.verify(t); v.Reason != proof.ChainBreak {
			t.Errorf("%+v", v)
		}
		must(t, p.EditLeaf(t.Context(), 8, rewritten("denied", "applied")))
		s.clock.later(time.Hour)
		p.show(t, "w1", held)
		p.checkHead(t, "")
		s.starts(t)
	})
}

// TestARollbackAcceptedWithoutTheKey has no effect on servers with the key, like a forged one.
func TestARollbackAcceptedWithoutTheKey(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		held := p.to(t, 12)
		p.restored(t, 7)
		p.show(t, "w1", held)
		if _, err := s.joins(t, nil).Admin.AcceptRollback(t.Context(), "nobody knows who"); err != nil {
			t.Fatal(err)
		}
		p.checkHead(t, "worker/12/tail_missing")
		s.refuses(t)
		s.accepts(t).show(t, "w1", held)
		s.starts(t).checkHead(t, "")
	})
}

// TestAnEpochThatTheStoreHasForgotten checks that such a store never satisfies heads of the epoch.
func TestAnEpochThatTheStoreHasForgotten(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		first := p.to(t, 12)
		p.restored(t, 7)
		p.show(t, "w1", first)
		p = s.accepts(t)
		second := p.to(t, 15)
		p.sql(t, "DELETE FROM audit_anchors")
		p.sql(t, "DELETE FROM audit_epochs WHERE n = 2")
		p.sql(t, "UPDATE audit_epochs SET closed = ?, last_size = 0", false)
		p = s.starts(t)
		p.checkHead(t, "")
		p.show(t, "w1", second, first)
		p.checkHead(t, "worker/12/root_mismatch worker/15/signature_invalid")
		s.refuses(t)
		p = s.accepts(t)
		p.show(t, "w1", second, first)
		p.checkHead(t, "")
		if epochs, err := p.store.Epochs(t.Context()); err != nil || len(epochs) != 3 || p.log.count() != 0 {
			t.Errorf("%+v: %v", epochs, err)
		}
		s.starts(t)
	})
}

// TestManyAbandonedHeads stores abandoned heads that are larger than the whole chain: they must not hide the heads
// that count.
func TestManyAbandonedHeads(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		var held []string
		for size := int64(20); size <= 100; size += 2 {
			held = append(held, p.to(t, size))
		}
		p.restored(t, 7)
		for at := 0; at < len(held); at += audit.HeldHeads {
			p.show(t, "w1", held[at:min(at+audit.HeldHeads, len(held))]...)
		}
		if n := len(p.presented(t)); n != len(held) || p.log.count() != n {
			t.Errorf("%d of %d are kept, %d errors", n, len(held), p.log.count())
		}
		p = s.accepts(t)
		p.show(t, "w1", p.to(t, 12))
		p.sql(t, "DELETE FROM audit_anchors WHERE kind = 'checkpoint' AND size > 9")
		must(t, p.CutAfter(t.Context(), 9))
		p.checkHead(t, "worker/12/tail_missing")
		s.refuses(t)
		p = s.accepts(t)
		p.show(t, "w1", held[:audit.HeldHeads]...)
		s.starts(t).checkHead(t, "")
	})
}

// TestAKeptHeadThatIsTamperedWith is stored and reported again when the worker shows it the next time.
func TestAKeptHeadThatIsTamperedWith(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		held := p.to(t, 12)
		p.restored(t, 7)
		p.show(t, "w1", held)
		reported := 1
		for statement, want := range map[string]string{
			"DELETE FROM audit_anchors":                                  "worker/12/tail_missing",
			"UPDATE audit_anchors SET evidence = substr(evidence, 1, 0)": "worker/12/tail_missing worker/12/tail_missing",
			"UPDATE audit_anchors SET note = ''":                         "worker/12/signature_invalid worker/12/tail_missing",
			"UPDATE audit_anchors SET kind = 'none'":                     "none/12/tail_missing worker/12/tail_missing",
			"UPDATE audit_anchors SET size = 3":                          "worker/3/signature_invalid worker/12/tail_missing",
		} {
			p.sql(t, statement)
			s.clock.later(time.Minute)
			p.show(t, "w1", held)
			p.show(t, "w2", held)
			if reported++; p.log.count() != reported {
				t.Errorf("%s: %d errors, want %d", statement, p.log.count(), reported)
			}
			if got := problems(p.verify(t).AnchorProblems); got != want {
				t.Errorf("%s: %s", statement, got)
			}
			s.refuses(t)
			p.sql(t, "DELETE FROM audit_anchors")
			s.clock.later(time.Minute)
			p.show(t, "w1", held)
			reported++
		}
	})
}
