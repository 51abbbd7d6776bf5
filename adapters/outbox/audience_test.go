package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/events"

	"github.com/writ-automation/writ/ports/waittest"
)

type unheard struct{}

func (unheard) EventName() string { return "test.nobody_listened" }
func (unheard) EventVersion() int { return 1 }

// to lists what was sent, as "subscriber data".
func (r *recorder) to() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.sent {
		list = append(list, fmt.Sprintf("%s %s %t", m.To, m.Data, m.Redelivered))
	}
	slices.Sort(list)
	return list
}

func TestEventsWithoutASubscriberAreNotWritten(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		err := f.db.Do(t.Context(), func(ctx context.Context) error { return f.writer.Publish(ctx, unheard{}) })
		if n := f.stored(t); err != nil || n != 0 {
			t.Errorf("%d messages are stored, %v", n, err)
		}
	})
}

func TestASubscriberThatHangsDelaysNoOther(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		f.audience.Add(happened{}.EventName(), "hangs")
		stop := f.start(t, time.Hour)
		const messages = 3 * batchSize
		var want []string
		for n := range messages {
			want = append(want, fmt.Sprintf("notify {\"n\":%d} false", n))
		}
		slices.Sort(want)
		for first := 0; first < messages; first += 50 {
			f.publish(t, slices.Collect(func(yield func(int) bool) {
				for n := first; n < first+50 && yield(n); n++ {
				}
			})...)
		}
		waittest.Eventually(t, 20*time.Second, "the other subscriber has all", func() bool {
			return len(f.bus.to()) == messages && f.stored(t) == messages
		})
		stop()
		if diff := cmp.Diff(want, f.bus.to()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRedelivery(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		again := events.Message{
			ID: "msg_1", Name: happened{}.EventName(), Version: 3, At: time.Now(), Data: json.RawMessage(`{"n":1}`),
			To: "notify",
		}
		err := f.db.Do(t.Context(), func(ctx context.Context) error {
			for range 2 {
				if err := f.writer.Redeliver(ctx, again); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || f.stored(t) != 1 {
			t.Fatalf("%d messages are stored, %v", f.stored(t), err)
		}
		// The relay of the first delivery deletes the message that it sent, not the one that was stored again.
		r := NewRelay(f.db, f.db.Signals(), f.bus, f.audience, nil, nil)
		if err := r.forget(t.Context(), []row{{Subscriber: "notify", ID: "msg_1"}}); err != nil || f.stored(t) != 1 {
			t.Fatalf("%d messages are stored, %v", f.stored(t), err)
		}
		f.start(t, time.Hour)
		waittest.Eventually(t, 20*time.Second, "the outbox is empty", func() bool { return f.stored(t) == 0 })
		if diff := cmp.Diff([]string{`notify {"n":1} true`}, f.bus.to()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestMessagesOfOtherBinaries relays rows without a subscriber, and rows for a subscriber that this binary lacks.
func TestMessagesOfOtherBinaries(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		err := f.db.Do(t.Context(), func(ctx context.Context) error {
			write, err := f.db.Write(ctx)
			if err != nil {
				return err
			}
			rows := []row{
				{ID: "msg_1", Name: "a", At: time.Now(), Data: `1`},
				{ID: "msg_1", Subscriber: "later", Name: "a", At: time.Now(), Data: `2`},
				{ID: "msg_2", Name: "a", At: time.Now(), Data: `3`},
			}
			_, err = write.NewInsert().Model(&rows).Exec(ctx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		f.start(t, time.Hour)
		waittest.Eventually(t, 20*time.Second, "the outbox is empty", func() bool { return f.stored(t) == 0 })
		if diff := cmp.Diff([]string{" 1 false", " 3 false", "later 2 false"}, f.bus.to()); diff != "" {
			t.Error(diff)
		}
	})
}
