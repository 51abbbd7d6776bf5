package heads_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/audit/internal/heads"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/audit/audittest"
)

const origin = "a.example/audit/in_1/e1"

// begin starts the loop in a synctest bubble.
func begin(of audit.Heads, s audit.HeadStore) (*heads.Copies, *messages) {
	logged := &messages{n: make(map[slog.Level]int)}
	h := heads.NewCopies(heads.CopiesParams{Heads: of, Store: s, Worker: "w1", Log: slog.New(logged)})
	h.Start()
	synctest.Wait()
	return h, logged
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func end(t *testing.T, h *heads.Copies) {
	t.Helper()
	for range 2 {
		if err := h.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestStoredHeadsAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old := audittest.Note("a.example/audit/in_1/e0", 99, 1)
		of, s := &trailHeads{}, newMemoryStore(audittest.Note(origin, 5, 1), old)
		h, logged := begin(of, s)
		h.Start()
		synctest.Wait()
		same(t, "at the start", of.asked(), "show 2 by w1", "newest")
		after(25 * time.Second)
		same(t, "without a newer one", of.asked(), "newest", "newest")
		of.set(func() { of.newest = audittest.Note(origin, 8, 1) })
		after(20 * time.Second)
		same(t, "with a newer one", of.asked(), "newest", "show 1 by w1", "newest", "newest")
		if n := s.size(); n != 99 || s.notes[origin] != of.newest {
			t.Errorf("held are %v", s.notes)
		}
		of.set(func() { of.newest = audittest.Note(origin, 7, 1) }) // another server's, with an older read
		after(10 * time.Second)
		if of.asked(); s.notes[origin] != audittest.Note(origin, 8, 1) {
			t.Errorf("held is %s", s.notes[origin])
		}
		after(time.Hour)
		visible := 0
		for _, c := range of.asked() {
			if c == "show 2 by w1" {
				visible++
			}
		}
		if visible != 1 {
			t.Errorf("all are shown %d times an hour", visible)
		}
		end(t, h)
		if logged.n[slog.LevelWarn]+logged.n[slog.LevelError] != 0 {
			t.Errorf("%v", logged.n)
		}
	})
}

// TestNothingIsLetGo keeps a stored head if the chain does not satisfy it, or if that is unknown.
func TestNothingIsLetGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(of *trailHeads){
		"it is not satisfied":    func(of *trailHeads) { of.onShow = func() { of.newest = "" } },
		"it is foreign":          func(of *trailHeads) { of.errOf = audit.ForeignHead.New("foreign") },
		"the store is not there": func(of *trailHeads) { of.errOf = down() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				held := audittest.Note(origin, 12, 1)
				of, s := &trailHeads{}, newMemoryStore(held)
				h, _ := begin(of, s)
				of.set(func() { of.newest = audittest.Note(origin, 20, 2); c(of) })
				after(time.Hour)
				if s.notes[origin] != held {
					t.Errorf("held is %s", s.notes[origin])
				}
				of.set(func() { of.newest, of.errOf, of.onShow = audittest.Note(origin, 20, 2), nil, nil })
				after(10 * time.Second)
				if s.size() != 20 {
					t.Errorf("held is %s", s.notes[origin])
				}
				end(t, h)
			})
		})
	}
}

func TestFailuresAreLoggedOnceUntilTheyPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of, s := &trailHeads{errOf: down(), errNew: down()}, newMemoryStore(audittest.Note(origin, 5, 1))
		h, logged := begin(of, s)
		after(5 * time.Minute)
		if n := logged.of(slog.LevelWarn); n != 2 {
			t.Errorf("%d warnings", n)
		}
		if n := len(of.asked()); n < 60 {
			t.Errorf("it is tried %d times", n)
		}
		of.set(func() { of.errOf, of.errNew = nil, nil })
		after(time.Minute)
		if n := logged.of(slog.LevelInfo); n != 2 {
			t.Errorf("%d times it is told that it works again", n)
		}
		of.set(func() { of.errOf = audit.ForeignHead.New("foreign") })
		after(2 * time.Hour)
		if n := logged.of(slog.LevelWarn); n != 3 {
			t.Errorf("%d warnings", n)
		}
		s.mu.Lock()
		s.unread = errors.New("a damaged file")
		s.mu.Unlock()
		of.set(func() { of.errOf = nil; of.newest = audittest.Note(origin, 6, 1) })
		after(time.Hour)
		if s.size() != 6 {
			t.Error("a damaged file keeps the others from being held")
		}
		of.set(func() { of.newest = "no note" })
		after(time.Minute)
		if n := logged.of(slog.LevelWarn); n != 4 {
			t.Errorf("%d warnings", n)
		}
		end(t, h)
	})
}

func TestStopEndsWhatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &trailHeads{hangs: true}
		h, logged := begin(of, newMemoryStore())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.Stop(ended); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		end(t, h)
		h.Start()
		synctest.Wait()
		end(t, h)
		if n := logged.of(slog.LevelWarn); n != 0 {
			t.Errorf("%d warnings at the end", n)
		}
	})
}
