package deliver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/waittest"
)

func broken(message string) error { return &fault.Error{Kind: fault.Unavailable, Message: message} }

func TestDelivered(t *testing.T) {
	eachEngine(t, usual(), nil, func(t *testing.T, b *bundle) {
		b.run()
		for _, d := range b.add("a", 5) {
			b.ends(d, notify.Delivered, "", 1)
		}
		waittest.Eventually(t, time.Minute, "all are counted", func() bool {
			return b.recorder.counted("server webhook delivered") == 5
		})
		if n := len(b.recorder.sent()); n != 5 || len(b.log.about("")) != 0 {
			t.Errorf("%d tries, %s", n, b.log.about(""))
		}
	})
}

func TestThreeTries(t *testing.T) {
	fails := func(context.Context, notify.Delivery) error { return broken("the other side said no") }
	eachEngine(t, usual(), fails, func(t *testing.T, b *bundle) {
		b.run()
		d := b.add("a", 1)[0]
		b.ends(d, notify.Failed, "the other side said no", 3)
		if diff := cmp.Diff([]sent{{d.ID, 1}, {d.ID, 2}, {d.ID, 3}}, b.recorder.sent()); diff != "" {
			t.Error(diff)
		}
		b.Stop()
		line := b.log.about("")
		if len(line) != 1 || b.recorder.counted("server webhook failed") != 1 {
			t.Fatalf("%q, %v", line, b.recorder.count)
		}
		for _, part := range []string{d.RunID, d.ID, "kind=webhook", "https://hooks.example/***", "the other side said no",
			"tries=3"} {
			if !strings.Contains(line[0], part) {
				t.Errorf("no %s in %s", part, line[0])
			}
		}
	})
}

func TestLaterTrySucceeds(t *testing.T) {
	second := func(_ context.Context, d notify.Delivery) error {
		if d.Attempts < 3 {
			return errors.New("an accident")
		}
		return nil
	}
	eachEngine(t, usual(), second, func(t *testing.T, b *bundle) {
		b.run()
		b.ends(b.add("a", 1)[0], notify.Delivered, "", 3)
		b.Stop()
		if line := b.log.about(""); len(line) != 0 {
			t.Errorf("%q", line)
		}
	})
}

func TestRefusedAtOnce(t *testing.T) {
	refuses := func(context.Context, notify.Delivery) error {
		return notify.Refused.New("the address may not be dialled")
	}
	eachEngine(t, usual(), refuses, func(t *testing.T, b *bundle) {
		b.run()
		b.ends(b.add("a", 1)[0], notify.Failed, "the address may not be dialled", 1)
		b.Stop()
		if n := len(b.log.about("dropped")); n != 1 || len(b.recorder.sent()) != 1 {
			t.Errorf("%d lines, %v", n, b.recorder.sent())
		}
	})
}

// TestAccidentsAreNotReported: the text of an error that is no fault appears only in the log.
func TestAccidentsAreNotReported(t *testing.T) {
	set := usual()
	set.Pauses = nil
	fails := func(context.Context, notify.Delivery) error {
		return fault.Wrap(fault.Internal, errors.New("detail"), "the run could not be read")
	}
	eachEngine(t, set, fails, func(t *testing.T, b *bundle) {
		b.run()
		b.ends(b.add("a", 1)[0], notify.Failed, "the run could not be read", 1)
		b.Stop()
		if line := b.log.about("detail"); len(line) != 1 {
			t.Errorf("%q", b.log.about(""))
		}
	})
}

func TestPanic(t *testing.T) {
	panics := func(_ context.Context, d notify.Delivery) error {
		if d.Attempts == 1 {
			var m map[string]int
			m["x"]++
		}
		if d.Attempts == 2 {
			panic("a secret")
		}
		return nil
	}
	eachEngine(t, usual(), panics, func(t *testing.T, b *bundle) {
		b.run()
		d := b.add("a", 1)[0]
		b.ends(d, notify.Delivered, "", 3)
		b.Stop()
		if len(b.log.about("panicked")) != 2 || len(b.log.about("nil map")) != 1 || len(b.log.about("a secret")) != 0 {
			t.Errorf("%q", b.log.about(""))
		}
	})
}

func TestRunGone(t *testing.T) {
	gone := func(_ context.Context, d notify.Delivery) error { return runs.RunNotFound.New("no run %q", d.RunID) }
	eachEngine(t, usual(), gone, func(t *testing.T, b *bundle) {
		b.run()
		d := b.add("a", 1)[0]
		waittest.Eventually(t, time.Minute, "it is tried", func() bool { return len(b.recorder.sent()) == 1 })
		b.Stop()
		if got := b.get(d); got.Status != notify.Pending || len(b.log.about("")) != 0 || len(b.recorder.count) != 0 {
			t.Errorf("%+v, %q, %v", got, b.log.about(""), b.recorder.count)
		}
	})
}

// TestSlowTarget lets one target use its whole time while others are delivered.
func TestSlowTarget(t *testing.T) {
	set := usual()
	set.Try, set.Pauses = time.Hour, nil
	t.Parallel()
	for _, c := range engines(t) {
		t.Run(c.name, func(t *testing.T) {
			release := make(chan struct{})
			b := setup(t, c.open(t), set, newLedger(func(ctx context.Context, d notify.Delivery) error {
				if d.Digest == "slow" {
					select {
					case <-release:
					case <-ctx.Done():
					}
				}
				return nil
			}))
			b.run()
			held := b.add("slow", 12)
			for _, name := range []string{"b", "c", "d"} {
				for _, d := range b.add(name, 6) {
					b.ends(d, notify.Delivered, "", 1)
				}
			}
			close(release)
			for _, d := range held {
				b.ends(d, notify.Delivered, "", 1)
			}
			b.Stop()
			if b.recorder.most["slow"] != 2 {
				t.Errorf("%v at once", b.recorder.most)
			}
			for lane, n := range b.recorder.most {
				if n > 2 {
					t.Errorf("%d of %s at once", n, lane)
				}
			}
			if len(b.lanes) != 0 || b.busy != 0 {
				t.Errorf("%v, %d are held", b.lanes, b.busy)
			}
		})
	}
}

// TestDeafTarget uses a channel that ignores its deadline. Its tries fail at the deadline, and it blocks no other
// target.
func TestDeafTarget(t *testing.T) {
	set := usual()
	set.Try, set.Grace, set.Pauses = 5*time.Millisecond, 5*time.Millisecond, nil
	t.Parallel()
	for _, c := range engines(t) {
		t.Run(c.name, func(t *testing.T) {
			release := make(chan struct{})
			b := setup(t, c.open(t), set, newLedger(func(_ context.Context, d notify.Delivery) error {
				if d.Digest == "deaf" {
					<-release
				}
				return nil
			}))
			b.run()
			deaf := b.add("deaf", 4)
			waittest.Eventually(t, time.Minute, "two have failed", func() bool {
				return b.recorder.counted("server webhook failed") == 2
			})
			failed := 0
			for _, d := range deaf {
				if got := b.get(d); got.Status == notify.Failed && got.Reason == "it did not end in time" {
					failed++
				}
			}
			if free, full := b.capacity(); failed != 2 || free != 8 || !cmp.Equal(full, []string{"deaf"}) {
				t.Errorf("%d failed, %d places, full %v", failed, free, full)
			}
			b.Stop() // Stop does not wait for the channel
			b.Start()
			close(release)
			waittest.Eventually(t, time.Minute, "the others follow", func() bool { return len(b.recorder.sent()) == 4 })
			b.Stop()
			waittest.Eventually(t, time.Minute, "nothing is under way", func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.strays == 0 && len(b.lanes) == 0
			})
		})
	}
}

// TestStraysAreBounded: no more tries begin while too many channels hang.
func TestStraysAreBounded(t *testing.T) {
	set := usual()
	set.Try, set.Grace, set.Pauses, set.Strays = 5*time.Millisecond, 5*time.Millisecond, nil, 3
	t.Parallel()
	for _, c := range engines(t) {
		t.Run(c.name, func(t *testing.T) {
			release := make(chan struct{})
			b := setup(t, c.open(t), set, newLedger(func(context.Context, notify.Delivery) error { <-release; return nil }))
			for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
				b.add(name, 2)
			}
			b.run()
			waittest.Eventually(t, time.Minute, "three hang", func() bool {
				free, _ := b.capacity()
				return free == 0 && b.recorder.counted("server webhook failed") == 3
			})
			if n := len(b.recorder.sent()); n != 3 {
				t.Errorf("%d tries", n)
			}
			close(release)
			waittest.Eventually(t, time.Minute, "all were tried", func() bool { return len(b.recorder.sent()) == 12 })
		})
	}
}
