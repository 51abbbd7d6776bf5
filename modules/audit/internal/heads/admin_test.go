package heads_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/keys"
)

func TestHeadsVerifyAcrossRotations(t *testing.T) {
	t.Parallel()
	s := fresh(t, pemOf(t))
	notes := []string{s.entries(t, 3).Note}
	for range 2 {
		var kept []byte
		list, err := s.admin.Rotate(t.Context(), func(pem []byte) error { kept = bytes.Clone(pem); return nil })
		if err != nil {
			t.Fatal(err)
		}
		// The head of the rotation's own entry is the first one by only the new key.
		h, err := s.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		newest := list[len(list)-1]
		if newest.Status != string(keys.Active) || newest.FirstSize != h.Size || list[len(list)-3].LastSize != h.Size {
			t.Errorf("at size %d: %+v", h.Size, list)
		}
		if pem, err := s.SigningKey(); err != nil || !bytes.Equal(pem, kept) {
			t.Errorf("the server signs with another key than was kept: %v", err)
		}
		notes = append(notes, h.Note, s.entries(t, 2).Note)
	}
	for _, note := range notes {
		s.opens(t, note)
	}
	if err := serve(s.d, nil, s.file).Open(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestARotationThatFailsLeavesTheOldKey(t *testing.T) {
	t.Parallel()
	pem := pemOf(t)
	s := fresh(t, pem)
	stop := errors.New("disk full")
	if _, err := s.admin.Rotate(t.Context(), func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var kept [][]byte
	_, err := s.admin.Rotate(ctx, func(pem []byte) error { kept = append(kept, bytes.Clone(pem)); cancel(); return nil })
	if err == nil || len(kept) != 2 || !bytes.Equal(kept[1], pem) {
		t.Errorf("kept %d keys: %v", len(kept), err)
	}
	if list, err := s.admin.Keys(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("%d keys: %v", len(list), err)
	}
	s.opens(t, s.entries(t, 1).Note)
	if _, err := serve(s.d, pemOf(t), s.file).admin.Rotate(t.Context(), func([]byte) error {
		return nil
	}); !audit.NoSigningKey.Is(err) {
		t.Errorf("a foreign key rotates: %v", err)
	}
}

func TestEraseIsRecordedAndAllOrNothing(t *testing.T) {
	t.Parallel()
	s := fresh(t, pemOf(t))
	before := s.entries(t, 3)
	for _, bad := range []struct {
		seqs   []int64
		ground string
		ok     func(error) bool
	}{
		{[]int64{2, 9}, "gdpr_17", audit.EntryNotFound.Is},
		{[]int64{0}, "gdpr_17", audit.EntryNotFound.Is},
		{nil, "gdpr_17", func(err error) bool { return fault.Is(err, fault.Invalid) }},
		{[]int64{2}, "GDPR 17", func(err error) bool { return fault.Is(err, fault.Invalid) }},
	} {
		if err := s.admin.Erase(t.Context(), bad.seqs, bad.ground); !bad.ok(err) {
			t.Errorf("%v %q: %v", bad.seqs, bad.ground, err)
		}
	}
	private := func() (seqs []int64) {
		page, _, err := s.store.Page(t.Context(), audit.Filter{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if e.Detail != "" {
				seqs = append(seqs, e.Seq)
			}
		}
		slices.Reverse(seqs)
		return seqs
	}
	if diff := cmp.Diff([]int64{2, 3, 4}, private()); diff != "" {
		t.Error(diff)
	}
	if err := s.admin.Erase(t.Context(), []int64{3, 2, 3}, "gdpr_17"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{4, 5}, private()); diff != "" {
		t.Error(diff)
	}
	if after := s.entries(t, 1); after.Size != before.Size+2 {
		t.Errorf("%d entries", after.Size)
	}
}

func TestAnAcceptedRollbackBeginsAnEpoch(t *testing.T) {
	t.Parallel()
	pem := pemOf(t)
	s := fresh(t, pem)
	if _, err := s.admin.AcceptRollback(t.Context(), "none"); !audit.NotRolledBack.Is(err) {
		t.Errorf("without one: %v", err)
	}
	if err := s.File(s.entries(t, 9)); err != nil {
		t.Fatal(err)
	}
	s.cut(t, 6)
	if _, err := s.Checkpoint(t.Context()); !audit.Unsatisfied.Is(err) {
		t.Errorf("a head behind the one that was signed: %v", err)
	}
	again := serve(s.d, pem, s.file)
	err := again.Open(t.Context())
	if !audit.RolledBack.Is(err) || !strings.Contains(err.Error(), "accept-rollback") {
		t.Fatalf("the start says %v", err)
	}
	e, err := again.admin.AcceptRollback(t.Context(), "restored on purpose")
	if err != nil || e.N != 2 || e.FirstSeq != 7 || !strings.HasSuffix(e.Origin, "/e2") {
		t.Fatalf("%+v: %v", e, err)
	}
	first, _, err := s.store.Page(t.Context(), audit.Filter{Limit: 1})
	if err != nil || first[0].Seq != 7 || first[0].Action != string(audit.ServiceEpoch) {
		t.Errorf("the first entry is %+v: %v", first, err)
	}
	h := again.entries(t, 1)
	again.opens(t, h.Note)
	if err := errors.Join(again.File(h), again.Open(t.Context()), serve(s.d, pem, s.file).Open(t.Context())); err != nil {
		t.Error(err)
	}
	if id := again.identity(t); id.Epochs[0].LastSize != 6 || !id.Epochs[0].Closed || id.Epoch.Closed {
		t.Errorf("%+v", id.Epochs)
	}
	if _, err := again.admin.AcceptRollback(t.Context(), "twice"); !audit.NotRolledBack.Is(err) {
		t.Errorf("twice: %v", err)
	}
}

// TestAForgedEpoch checks that write access to the database alone abandons no head in the head file, however plausible
// the epoch and its entry are. With the signing key it does.
func TestAForgedEpoch(t *testing.T) {
	t.Parallel()
	pem := pemOf(t)
	s := fresh(t, pem)
	if err := s.File(s.entries(t, 9)); err != nil {
		t.Fatal(err)
	}
	s.cut(t, 6)
	first := s.identity(t).Epoch
	origin, err := install.OriginOf(first.Origin, 2)
	if err != nil {
		t.Fatal(err)
	}
	root, err := treelog.New(s.store, s.store).Root(t.Context(), 6)
	if err != nil {
		t.Fatal(err)
	}
	first.Closed, first.LastSize, first.LastRoot = true, 6, root
	forged := serve(s.d, nil, nil)
	s.do(t, func(ctx context.Context) error {
		a := audit.Anchor{ID: "anc_forged", Kind: audit.KindCheckpoint, Epoch: 2, Size: 7, MadeAt: time.Now(),
			Note: s.file.note}
		return errors.Join(s.store.PutEpoch(ctx, first),
			s.store.PutEpoch(ctx, audit.Epoch{N: 2, Origin: origin, FirstSeq: 7}),
			forged.rec.Record(ctx, audit.Entry{Action: audit.ServiceEpoch, Object: audit.Object{Kind: "epoch", ID: "2"}}),
			s.store.PutAnchor(ctx, a))
	})
	if root, err = treelog.New(s.store, s.store).Root(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	s.do(t, func(ctx context.Context) error {
		q, err := s.d.Write(ctx)
		if err == nil {
			_, err = q.ExecContext(ctx, "UPDATE audit_anchors SET root = ?", root[:])
		}
		return err
	})
	for name, again := range map[string]*server{"with the key": serve(s.d, pem, s.file),
		"without": serve(s.d, nil, s.file)} {
		if err := again.Open(t.Context()); !audit.RolledBack.Is(err) {
			t.Errorf("%s the start says %v", name, err)
		}
	}
	again := serve(s.d, pem, s.file)
	old := s.file.note
	if e, err := again.admin.AcceptRollback(t.Context(), "it was me"); err != nil || e.N != 3 {
		t.Fatalf("%+v: %v", e, err)
	}
	for name, other := range map[string]*server{"with the key": serve(s.d, pem, &file{note: old}),
		"without": serve(s.d, nil, &file{note: old})} {
		if err := other.Open(t.Context()); err != nil {
			t.Errorf("%s another server, after what the key vouches for: %v", name, err)
		}
	}
}

// TestAChainThatBecameAnother keeps the part of the epoch under a satisfied head: the copy was written to before any
// check.
func TestAChainThatBecameAnother(t *testing.T) {
	t.Parallel()
	pem := pemOf(t)
	s := fresh(t, pem)
	if _, err := s.Retain(t.Context(), s.entries(t, 3), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.File(s.entries(t, 5)); err != nil {
		t.Fatal(err)
	}
	s.cut(t, 6)
	forked := serve(s.d, pem, &file{})
	forked.entries(t, 10)
	again := serve(s.d, pem, s.file)
	if err := again.Open(t.Context()); !audit.RolledBack.Is(err) {
		t.Fatalf("the start says %v", err)
	}
	if _, err := again.admin.AcceptRollback(t.Context(), "so be it"); err != nil {
		t.Fatal(err)
	}
	if id := again.identity(t); id.Epochs[0].LastSize != 4 || id.Epoch.FirstSeq != 17 {
		t.Errorf("%+v", id.Epochs)
	}
	if err := again.Open(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAStoreThatForgotARotation continues with the key of the server, and with an unused epoch.
func TestAStoreThatForgotARotation(t *testing.T) {
	t.Parallel()
	old := pemOf(t)
	s := fresh(t, old)
	s.entries(t, 3)
	keysBefore, err := s.admin.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var pem []byte
	if _, err := s.admin.Rotate(t.Context(), func(p []byte) error { pem = bytes.Clone(p); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.File(s.entries(t, 3)); err != nil {
		t.Fatal(err)
	}
	s.cut(t, 3)
	s.do(t, func(ctx context.Context) error {
		q, err := s.d.Write(ctx)
		if err == nil {
			_, err = q.ExecContext(ctx, "DELETE FROM audit_keys")
		}
		for _, k := range keysBefore {
			err = errors.Join(err, s.store.PutKey(ctx, k))
		}
		return err
	})
	again := serve(s.d, pem, s.file)
	if err := again.Open(t.Context()); !audit.RolledBack.Is(err) {
		t.Fatalf("the start says %v", err)
	}
	if _, err := again.admin.AcceptRollback(t.Context(), "restored"); err != nil {
		t.Fatal(err)
	}
	if err := again.Open(t.Context()); err != nil || !again.HasKey() {
		t.Errorf("the start says %v, key %t", err, again.HasKey())
	}
	h := again.entries(t, 1)
	if _, _, err := again.Signers(t.Context()); err != nil || h.Epoch != 2 {
		t.Errorf("epoch %d: %v", h.Epoch, err)
	}
	list, err := again.admin.Keys(t.Context())
	if err != nil || len(list) != 4 || list[0].LastSize != 3 || list[2].FirstSize != 4 {
		t.Errorf("%+v %v", list, err)
	}
}

// TestAStoreThatForgotAnEpoch must not reuse its number, since heads of it were signed.
func TestAStoreThatForgotAnEpoch(t *testing.T) {
	t.Parallel()
	pem := pemOf(t)
	s := fresh(t, pem)
	first := s.identity(t).Epoch
	restore := func(size int64) *server {
		s.cut(t, size)
		s.do(t, func(ctx context.Context) error {
			q, err := s.d.Write(ctx)
			if err == nil {
				_, err = q.ExecContext(ctx, "DELETE FROM audit_epochs")
			}
			return errors.Join(err, s.store.PutEpoch(ctx, first))
		})
		again := serve(s.d, pem, s.file)
		if err := again.Open(t.Context()); !audit.RolledBack.Is(err) {
			t.Fatalf("the start says %v", err)
		}
		return again
	}
	if err := s.File(s.entries(t, 9)); err != nil {
		t.Fatal(err)
	}
	again := restore(7)
	if _, err := again.admin.AcceptRollback(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	if err := again.File(again.entries(t, 1)); err != nil {
		t.Fatal(err)
	}
	again = restore(5)
	if e, err := again.admin.AcceptRollback(t.Context(), "second"); err != nil || e.N != 3 {
		t.Fatalf("%+v: %v", e, err)
	}
	again.opens(t, again.entries(t, 1).Note)
	id := again.identity(t)
	if len(id.Epochs) != 3 || !id.Epochs[1].Closed || id.Epochs[1].LastSize != 5 {
		t.Errorf("%+v", id.Epochs)
	}
	if err := again.Open(t.Context()); err != nil {
		t.Error(err)
	}
}
