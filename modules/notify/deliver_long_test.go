//go:build long

package notify_test

import (
	"errors"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// TestThreeTries uses the pauses of the server.
func TestThreeTries(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, b *bundle) {
		b.fixture.fails = func(to notify.Target) error {
			return errors.New(`Post "https://hooks.example/S3CRET": dial tcp 192.0.2.1:443: refused`)
		}
		b.run()
		r := b.add(runs.Succeeded, []runs.Notification{{Kind: "webhook", URL: "https://hooks.example/***", Ref: "ntg_1"}})
		begun := time.Now()
		b.ends(r)
		same(t, "what became of it",
			[]string{`run webhook failed Post "https://hooks.example/***": dial tcp 192.0.2.1:443: refused`}, b.settled(r))
		if took := time.Since(begun); took < 12*time.Second {
			t.Errorf("it was dropped after %s", took)
		}
		heard := b.fixture.heard()
		if len(heard) != 3 || heard[0].Message.Delivery != heard[2].Message.Delivery {
			t.Errorf("%d tries", len(heard))
		}
	})
}
