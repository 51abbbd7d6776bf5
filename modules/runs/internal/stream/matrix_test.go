package stream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// echo is a Deltas whose revision is the number of the last requested event.
type echo struct{}

func (echo) Delta(_ context.Context, _ *runs.Run, rev, _, upTo int64) (*runs.MatrixDelta, error) {
	return &runs.MatrixDelta{Since: rev, Rev: upTo}, nil
}

func TestMatrixDeltasAreFewAndComplete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &tape{run: runs.Run{Status: runs.Running}}
		hub := NewHub()
		s := NewStreamer(hub, r, r, r, times).WithMatrix(echo{})
		var sent []runs.MatrixDelta
		var at []time.Time
		done := make(chan error, 1)
		go func() {
			done <- s.Follow(t.Context(), "run", 2, 0, func(u runs.Update) error {
				if u.Matrix != nil {
					sent, at = append(sent, *u.Matrix), append(at, time.Now())
				}
				return nil
			})
		}()
		for range 300 {
			r.mu.Lock()
			e := runs.Event{Seq: int64(len(r.events) + 1), Type: runs.EventHostOK, Host: "h"}
			r.events = append(r.events, e)
			r.mu.Unlock()
			hub.ShowEvents("run", []runs.Event{e})
			<-time.After(10 * time.Millisecond)
		}
		r.status(runs.Succeeded)
		hub.Wake("run")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		rev := int64(2)
		for i, d := range sent {
			if d.Since != rev {
				t.Errorf("delta %d is since %d, after %d", i, d.Since, rev)
			}
			rev = d.Rev
			if i >= 10 && at[i].Sub(at[i-10]) < time.Second {
				t.Errorf("eleven deltas in %s", at[i].Sub(at[i-10]))
			}
		}
		if rev != 300 || len(sent) < 20 {
			t.Errorf("%d deltas up to %d", len(sent), rev)
		}
	})
}
