package guard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// bound is how long a stream may emit updates after its follower lost the right to it.
const bound = 15 * time.Second

func TestALostRightEndsTheStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		every time.Duration
		u     runs.Update
	}{
		{"many updates", 10 * time.Millisecond, runs.Update{Event: &runs.Event{}}},
		{"an update now and then", 4 * time.Second, runs.Update{Log: &runs.LogChunk{}}},
		{"only beats", bound, runs.Update{Beat: true}},
		{"hardly a beat", time.Hour, runs.Update{Beat: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, is := setup()
				var lost, last time.Time
				b.follow = func(ctx context.Context, emit func(runs.Update) error) error {
					for i := range 100_000 {
						select {
						case <-ctx.Done():
							return ctx.Err()
						case <-time.After(c.every):
						}
						if err := emit(c.u); err != nil {
							return err
						}
						last = time.Now()
						if i == 7 {
							is.gives("queue:mine", access.None)
							lost = time.Now()
						}
					}
					return nil
				}
				err := over(b, is).Follow(t.Context(), mine, 0, 0, func(runs.Update) error { return nil })
				if !runs.RunNotFound.Is(err) {
					t.Fatalf("the stream ended with %v", err)
				}
				if sent := last.Sub(lost); sent > askAgain {
					t.Errorf("told for %s after the loss", sent)
				}
				if ended := time.Since(lost); ended > askAgain || askAgain > bound/2 {
					t.Errorf("ended %s after the loss", ended)
				}
				if is.lookups != 1 {
					t.Errorf("%d lookups", is.lookups)
				}
			})
		})
	}
}

// TestALostRightStaysLost grants the right again while the stream is silent. The stream has ended by then.
func TestALostRightStaysLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, is := setup()
		b.follow = func(_ context.Context, emit func(runs.Update) error) error {
			is.gives("queue:mine", access.None)
			time.Sleep(askAgain + time.Second)
			is.gives("queue:mine", access.Read)
			time.Sleep(askAgain)
			return emit(runs.Update{})
		}
		err := over(b, is).Follow(t.Context(), mine, 0, 0, func(runs.Update) error { t.Error("told"); return nil })
		if !runs.RunNotFound.Is(err) {
			t.Error(err)
		}
	})
}

// TestAStreamEndsAsItsRunDoes checks that the guard returns the streamer's own result if no right is lost, also when
// the follower leaves.
func TestAStreamEndsAsItsRunDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, is := setup()
		gone := errors.New("the follower is gone")
		b.follow = func(_ context.Context, emit func(runs.Update) error) error { return emit(runs.Update{}) }
		if err := over(b, is).Follow(t.Context(), mine, 0, 0, func(runs.Update) error {
			return gone
		}); !errors.Is(err, gone) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b.follow = func(ctx context.Context, _ func(runs.Update) error) error { <-ctx.Done(); return ctx.Err() }
		if err := over(b, is).Follow(ctx, mine, 0, 0, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestAStreamGoesOnWhileTheRightLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, is := setup()
		sent := 0
		b.follow = func(_ context.Context, emit func(runs.Update) error) error {
			for range 100 {
				time.Sleep(time.Second)
				if err := emit(runs.Update{}); err != nil {
					return err
				}
			}
			return nil
		}
		err := over(b, is).Follow(t.Context(), visible, 0, 0, func(runs.Update) error { sent++; return nil })
		if err != nil || sent != 100 {
			t.Errorf("%d told, %v", sent, err)
		}
	})
}
