package system_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	module "github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/ports/fault"
)

type probe struct {
	calls atomic.Int32
	fn    func(context.Context) error
}

func (p *probe) Probe(ctx context.Context) error { p.calls.Add(1); return p.fn(ctx) }

func TestReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &probe{fn: func(context.Context) error { return nil }}
		h, err := module.New(module.Params{Probe: p})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		cause := errors.New("corrupt")
		p.fn = func(context.Context) error { return cause }
		if err := h.Ready(t.Context()); !fault.Is(err, fault.Unavailable) || !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
		p.fn = func(context.Context) error { return nil }
		if err := h.Ready(t.Context()); err != nil {
			t.Errorf("a store that came back: %v", err)
		}
	})
	if _, err := module.New(module.Params{}); err == nil {
		t.Error("no probe is accepted")
	}
}

// TestHangingStore probes a store that ignores its context many times.
func TestHangingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &probe{fn: func(context.Context) error { <-release; return nil }}
		h, err := module.New(module.Params{Probe: p})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 5 {
			if err := h.Ready(t.Context()); !fault.Is(err, fault.Unavailable) {
				t.Errorf("%v", err)
			}
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("five questions took %v", took)
		}
		if p.calls.Load() != 1 {
			t.Errorf("%d probes hang", p.calls.Load())
		}
		close(release)
		synctest.Wait()
		if err := h.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
