package stream

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// reread counts how often a run is read.
type reread struct {
	*tape
	reads atomic.Int64
}

func (r *reread) ByID(ctx context.Context, id string) (*runs.Run, error) {
	r.reads.Add(1)
	return r.tape.ByID(ctx, id)
}

// made counts the deltas that are made.
type made struct{ n atomic.Int64 }

func (m *made) Delta(_ context.Context, _ *runs.Run, rev, _, upTo int64) (*runs.MatrixDelta, error) {
	if upTo <= rev {
		return nil, nil
	}
	m.n.Add(1)
	return &runs.MatrixDelta{Since: rev, Rev: upTo}, nil
}

// TestFollowersShareWhatTheyGet encodes each update once for all followers of a run, reads the run and makes each delta
// once, and says which updates follow at once.
func TestFollowersShareWhatTheyGet(t *testing.T) {
	t.Parallel()
	const followers, rounds = 50, 100
	synctest.Test(t, func(t *testing.T) {
		run := &reread{tape: &tape{run: runs.Run{ID: "run_a", Status: runs.Running}}}
		hub, matrix := NewHub(), &made{}
		s := NewStreamer(hub, run, run, run, Times{Poll: time.Second, Beat: time.Hour}).WithMatrix(matrix)
		var encoded, alone, got, flushed atomic.Int64
		ended := make(chan error, followers)
		for range followers {
			go func() {
				ended <- s.Follow(t.Context(), "run_a", 0, 0, func(u runs.Update) error {
					got.Add(1)
					if !u.More {
						flushed.Add(1)
					}
					if u.Text == nil {
						alone.Add(1)
						return nil
					}
					text, err := u.Text.Get(func() (string, error) {
						encoded.Add(1)
						return fmt.Sprintf("%v %v %v", u.Event, u.Log, u.Matrix), nil
					})
					if want := fmt.Sprintf("%v %v %v", u.Event, u.Log, u.Matrix); u.Run == nil && text != want {
						return fmt.Errorf("%q is encoded as %q", want, text)
					}
					return err
				})
			}()
		}
		synctest.Wait()
		joined := run.reads.Load()
		for range rounds {
			hub.ShowLog("run_a", run.print("line\n"))
			e := run.tell()
			e[0].Host = "web1"
			hub.ShowEvents("run_a", e)
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		polls := run.reads.Load() - joined
		run.status(runs.Succeeded)
		hub.Wake("run_a")
		for range followers {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		t.Logf("%d updates, %d encoded, %d alone, %d flushed, %d deltas, %d reads while it ran",
			got.Load(), encoded.Load(), alone.Load(), flushed.Load(), matrix.n.Load(), polls)
		if n := encoded.Load(); n < 2*rounds || n > 3*rounds+2*followers {
			t.Errorf("%d updates were encoded", n)
		}
		if n := alone.Load(); n > 2*followers { // the end has no text, nor have those of the first follower
			t.Errorf("%d updates were encoded by their reader", n)
		}
		if n := matrix.n.Load(); n > rounds+1 {
			t.Errorf("%d deltas were made", n)
		}
		if polls > 3*rounds/10 {
			t.Errorf("the run was read %d times", polls)
		}
		if flushed.Load() >= got.Load() {
			t.Error("every update is flushed by itself")
		}
	})
}

// TestTextsAreBounded drops the oldest.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	var all texts
	for n := range int64(10 * maxTexts) {
		all.get(textKey{kind: eventText, to: n}, int(n%7)*1000)
	}
	if len(all.held) > maxTexts || len(all.held) != len(all.queue) || all.bytes > maxTextBytes {
		t.Errorf("%d texts of %d bytes, %d in the queue", len(all.held), all.bytes, len(all.queue))
	}
	last := textKey{kind: eventText, to: 10*maxTexts - 1}
	if all.get(last, 1) != all.get(last, 1) {
		t.Error("the newest is not held")
	}
}

// TestJoin joins what follows and keeps the given pieces as they are.
func TestJoin(t *testing.T) {
	t.Parallel()
	whole := []byte("abcdef")
	given := []runs.LogChunk{{Data: whole[:2]}, {Offset: 2, Data: whole[2:4]}, {Offset: 9, Data: []byte("x")},
		{Offset: 10, Data: make([]byte, joined)}, {Offset: 10 + joined, Data: []byte("y")}}
	got := join(given)
	if len(got) != 4 || string(got[0].Data) != "abcd" || string(got[1].Data) != "x" || got[3].Offset != 10+joined {
		t.Errorf("%d pieces, the first is %q", len(got), got[0].Data)
	}
	if string(whole) != "abcdef" || string(given[0].Data) != "ab" {
		t.Errorf("the given pieces are %q and %q now", whole, given[0].Data)
	}
}
