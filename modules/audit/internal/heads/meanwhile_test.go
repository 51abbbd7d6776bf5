package heads_test

import (
	"context"
	"log/slog"
	"testing"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit"
)

// late is a store that runs a function after a read.
type late struct {
	*sqlaudit.Store
	tip, keys func() // called once each
}

func once(fn *func()) {
	if f := *fn; f != nil {
		*fn = nil
		f()
	}
}

func (l *late) Tip(ctx context.Context) (audit.Tip, error) {
	tip, err := l.Store.Tip(ctx)
	once(&l.tip)
	return tip, err
}

func (l *late) Keys(ctx context.Context) ([]audit.PublicKey, error) {
	list, err := l.Store.Keys(ctx)
	once(&l.keys)
	return list, err
}

// TestARotationWhileAHeadIsSigned must get a head, whichever step of signing another process's rotation interrupts.
func TestARotationWhileAHeadIsSigned(t *testing.T) {
	t.Parallel()
	pem := pemOf(t)
	s := fresh(t, pem)
	store, c := &late{Store: s.store}, clock.New()
	in := install.New(install.Params{
		Unit: s.d, Identity: store, Chain: store, Reader: store, Anchors: store, Tree: treelog.New(store, store),
		Recorder: s.rec, Clock: c,
		IDs: ids.New(c), Log: slog.New(slog.DiscardHandler),
		Config: install.Config{Site: "audit.example.org", SigningPEM: pem, Load: func() ([]byte, error) { return pem, nil }},
	})
	if err := in.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	rotate := func() {
		made := serve(s.d, pem, nil)
		if _, err := made.admin.Rotate(t.Context(), func(next []byte) error { pem = next; return nil }); err != nil {
			t.Error(err)
		}
	}
	for name, begin := range map[string]func(){
		"behind the tip": func() { store.tip = rotate },
		"behind the keys": func() {
			store.keys = func() {
				rotate()
				if _, _, err := in.Signers(t.Context()); err != nil { // another request has loaded the new ones already
					t.Error(err)
				}
			}
		},
	} {
		begin()
		h, err := in.Checkpoint(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s.opens(t, h.Note)
	}
}
