package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

// tape is one growing run, with the parts of the stores that a follower reads.
type tape struct {
	runs.Store
	runs.EventStore
	runs.LogStore

	mu     sync.Mutex
	run    runs.Run
	events []runs.Event
	log    []byte
	hole   int64 // bytes before this are dropped
}

func (r *tape) ByID(context.Context, string) (*runs.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.run
	out.EventCount, out.LogBytes = int64(len(r.events)), int64(len(r.log))
	return &out, nil
}

func (r *tape) Events(_ context.Context, _ string, after int64, limit int) ([]runs.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.events[min(int(after), len(r.events)):]
	return append([]runs.Event(nil), rest[:min(limit, len(rest))]...), nil
}

func (r *tape) ReadLog(_ context.Context, _ string, from, to int64, yield func(runs.LogChunk) error) error {
	r.mu.Lock()
	data := append([]byte(nil), r.log...)
	hole := r.hole
	r.mu.Unlock()
	for at := max(from, hole); at < to; at += 7 {
		if err := yield(runs.LogChunk{Offset: at, Data: data[at:min(at+7, to)]}); err != nil {
			return err
		}
	}
	return nil
}

func (r *tape) print(text string) runs.LogChunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := runs.LogChunk{Offset: int64(len(r.log)), Data: []byte(text)}
	r.log = append(r.log, text...)
	return c
}

func (r *tape) tell() []runs.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := runs.Event{Seq: int64(len(r.events) + 1)}
	r.events = append(r.events, e)
	return []runs.Event{e}
}

func (r *tape) status(s runs.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Status = s
}

// seen collects what a follower received.
type seen struct {
	mu     sync.Mutex
	states []runs.Status
	seqs   []int64
	text   []byte
	offset int64
	gaps   int
	beats  int
	ended  bool
}

func (s *seen) emit(u runs.Update) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return errors.New("something after the end")
	case u.Run != nil:
		s.states = append(s.states, u.Run.Status)
	case u.Event != nil:
		s.seqs = append(s.seqs, u.Event.Seq)
	case u.Log != nil:
		if u.Log.Offset < s.offset {
			return fmt.Errorf("offset %d told after %d", u.Log.Offset, s.offset)
		}
		if u.Log.Offset > s.offset {
			s.gaps++
		}
		s.offset = u.Log.Offset + int64(len(u.Log.Data))
		s.text = append(s.text, u.Log.Data...)
	case u.Beat:
		s.beats++
	case u.End:
		s.ended = true
	}
	return nil
}

var times = Times{Poll: 500 * time.Millisecond, Beat: 15 * time.Second}

func TestFollowTellsEverythingOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &tape{run: runs.Run{Status: runs.Running}}
		r.print("before ")
		r.tell()
		hub := NewHub()
		s := NewStreamer(hub, r, r, r, times)
		var got [3]seen
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				if err := s.Follow(t.Context(), "run", 0, 0, got[i].emit); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for i := range 200 {
			c := r.print(fmt.Sprintf("line %d ünï\n", i))
			half := len(c.Data)/2 + 1
			hub.ShowLog("run", runs.LogChunk{Offset: c.Offset, Data: c.Data[:half]})
			hub.ShowLog("run", c) // overlaps, as a repeated report does
			if i%3 == 0 {
				hub.ShowEvents("run", r.tell())
			} else if i%7 == 0 {
				r.tell() // an event that does not reach the hub
			}
			if i%50 == 0 {
				synctest.Wait()
			}
		}
		r.tell()
		r.status(runs.Succeeded)
		hub.Wake("run")
		wg.Wait()
		for i := range got {
			g := &got[i]
			if !g.ended || !bytes.Equal(g.text, r.log) || g.gaps != 0 {
				t.Errorf("follower %d: ended %v, %d of %d bytes, %d gaps", i, g.ended, len(g.text), len(r.log), g.gaps)
			}
			if diff := cmp.Diff([]runs.Status{runs.Running, runs.Succeeded}, g.states); diff != "" {
				t.Error(diff)
			}
			for k, seq := range g.seqs {
				if seq != int64(k+1) {
					t.Fatalf("follower %d: event %d stands at %d", i, seq, k)
				}
			}
			if len(g.seqs) != len(r.events) {
				t.Errorf("follower %d: %d of %d events", i, len(g.seqs), len(r.events))
			}
		}
		if len(hub.feeds) != 0 || hub.count.Load() != 0 {
			t.Error("the hub keeps a run that nobody follows")
		}
	})
}

func TestFollowResumesAndSeesOtherProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &tape{run: runs.Run{Status: runs.Running}}
		r.print("0123456789")
		r.tell()
		r.tell()
		var got seen
		got.offset = 4
		done := make(chan error, 1)
		go func() { done <- NewStreamer(NewHub(), r, r, r, times).Follow(t.Context(), "run", 1, 4, got.emit) }()
		time.Sleep(16 * time.Second) // virtual: no report of any kind
		r.print("abc")
		r.tell()
		time.Sleep(time.Second)
		r.status(runs.Failed)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if string(got.text) != "456789abc" || !cmp.Equal(got.seqs, []int64{2, 3}) || got.beats != 1 || !got.ended {
			t.Errorf("%q, events %v, %d beats", got.text, got.seqs, got.beats)
		}
	})
}

// TestFollowTellsOfSteps has the record of a pipeline again when a step gets another status or run, and only then.
func TestFollowTellsOfSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &tape{run: runs.Run{Status: runs.Running, Graph: &runs.Graph{Steps: make([]runs.StepState, 2)}}}
		hub := NewHub()
		var got seen
		done := make(chan error, 1)
		go func() { done <- NewStreamer(hub, r, r, r, times).Follow(t.Context(), "run", 0, 0, got.emit) }()
		for _, step := range []runs.StepState{{Status: runs.Pending, RunID: "a"}, {Status: runs.Running, RunID: "a"},
			{Status: runs.Running, RunID: "a"}, {Status: runs.Running, RunID: "b"}} {
			synctest.Wait()
			r.mu.Lock()
			r.run.Graph = &runs.Graph{Steps: []runs.StepState{step, {}}}
			r.mu.Unlock()
			hub.Wake("run")
		}
		synctest.Wait()
		r.status(runs.Succeeded)
		hub.Wake("run")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(got.states) != 5 { // the first, three changes of a step, the end
			t.Errorf("%v", got.states)
		}
	})
}

func TestFollowJumpsOverWhatWasDropped(t *testing.T) {
	t.Parallel()
	r := &tape{run: runs.Run{Status: runs.Succeeded}, hole: 6}
	r.print("0123456789")
	var got seen
	if err := NewStreamer(NewHub(), r, r, r, times).Follow(t.Context(), "run", 0, 0, got.emit); err != nil {
		t.Fatal(err)
	}
	if string(got.text) != "6789" || got.gaps != 1 || !got.ended {
		t.Errorf("%q with %d gaps", got.text, got.gaps)
	}
}

func TestFollowEndsWithItsContextAndItsReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &tape{run: runs.Run{Status: runs.Running}}
		s := NewStreamer(NewHub(), r, r, r, times)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Follow(ctx, "run", 0, 0, (&seen{}).emit); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("context: %v", err)
		}
		gone := errors.New("gone")
		if err := s.Follow(t.Context(), "run", 0, 0, func(runs.Update) error { return gone }); !errors.Is(err, gone) {
			t.Errorf("reader: %v", err)
		}
	})
}

// A follower that reads nothing must not block the reporter, and gets everything in the end.
func TestASlowReaderBlocksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &tape{run: runs.Run{Status: runs.Running}}
		hub := NewHub()
		var got seen
		release := make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- NewStreamer(hub, r, r, r, times).Follow(t.Context(), "run", 0, 0, func(u runs.Update) error {
				<-release
				return got.emit(u)
			})
		}()
		synctest.Wait()
		line := string(bytes.Repeat([]byte("x"), 10_000))
		for range 300 {
			hub.ShowLog("run", r.print(line))
			hub.ShowEvents("run", r.tell())
		}
		if size := hub.feeds["run"].size; size > maxLog {
			t.Errorf("the hub keeps %d bytes", size)
		}
		r.status(runs.Succeeded)
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(got.text) != len(r.log) || got.gaps != 0 || len(got.seqs) != 300 {
			t.Errorf("%d of %d bytes, %d gaps, %d events", len(got.text), len(r.log), got.gaps, len(got.seqs))
		}
	})
}

func TestPartial(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"": 0, "a": 0, "ü": 0, "a\xc3": 1, "\xe2\x82": 2, "\xf0\x9f\x98": 3,
		"\xf0\x9f\x98\x80": 0, "\xff": 0, "\x80\x80": 0} {
		if got := partial([]byte(in)); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}
