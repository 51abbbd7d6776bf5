package waitlist_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/modules/execution/internal/waitlist"
	"github.com/writ-automation/writ/ports/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// signals is one watcher's channel.
type signals struct {
	ch      chan string
	stopped bool
}

func (s *signals) Signal(_ context.Context, _, payload string) error { s.ch <- payload; return nil }
func (s *signals) Watch(string) (<-chan string, func())              { return s.ch, func() { s.stopped = true } }

func enter(t *testing.T, l *waitlist.List, queues ...string) *waitlist.Waiter {
	t.Helper()
	p, err := l.Join(queues)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// woken counts the places that have a token, and takes the tokens.
func woken(list ...*waitlist.Waiter) string {
	out := ""
	for _, p := range list {
		select {
		case <-p.Woken():
			out += "1"
		default:
			out += "0"
		}
	}
	return out
}

// TestOneOfEachIsWoken wakes the one who waits longest for each set of queues with the queue, and the next where the
// first has its token.
func TestOneOfEachIsWoken(t *testing.T) {
	t.Parallel()
	l := waitlist.New(nil, 10)
	defer l.Close()
	list := []*waitlist.Waiter{enter(t, l, "a"), enter(t, l, "a", "a"), enter(t, l, "b", "a"), enter(t, l, "a", "b"), enter(t, l, "c")}
	l.Wake("a")
	if got := woken(list...); got != "10100" {
		t.Errorf("woken are %s", got)
	}
	l.Wake("a")
	l.Wake("a")
	l.Wake("a")
	if got := woken(list...); got != "11110" {
		t.Errorf("woken are %s", got)
	}
	l.Wake("")
	if got := woken(list...); got != "10101" {
		t.Errorf("woken are %s", got)
	}
	l.Wake("c")
	l.Wake("d")
	if got := woken(list...); got != "00001" {
		t.Errorf("woken are %s", got)
	}
}

// TestATokenIsPassedOn: one who leaves without having looked wakes another of its queues.
func TestATokenIsPassedOn(t *testing.T) {
	t.Parallel()
	l := waitlist.New(nil, 10)
	defer l.Close()
	first, second := enter(t, l, "a"), enter(t, l, "a")
	l.Wake("a")
	first.Leave()
	first.Leave()
	if got := woken(second); got != "1" {
		t.Error("the token is lost")
	}
	second.Leave()
	l.Wake("a")
	if got := woken(second); got != "0" {
		t.Error("one who left is woken")
	}
}

// TestSignalsAndTheClockWake: a signal wakes at once, and the clock each second where none comes.
func TestSignalsAndTheClockWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &signals{ch: make(chan string, 1)}
		l := waitlist.New(s, 10)
		a, b := enter(t, l, "a"), enter(t, l, "b")
		if err := s.Signal(t.Context(), "", "b"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := woken(a, b); got != "01" {
			t.Errorf("after a signal woken are %s", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := woken(a, b); got != "11" {
			t.Errorf("after a second woken are %s", got)
		}
		l.Close()
		l.Close()
		if !s.stopped {
			t.Error("the signals are watched after the end")
		}
		<-l.Done()
	})
}

// TestTheLineIsBounded refuses one too many and, once it is closed, everybody.
func TestTheLineIsBounded(t *testing.T) {
	t.Parallel()
	l := waitlist.New(nil, 3)
	var last *waitlist.Waiter
	for i := range 3 {
		last = enter(t, l, fmt.Sprint(i))
	}
	if _, err := l.Join([]string{"x"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a fourth gets %v", err)
	}
	last.Leave()
	enter(t, l, "x")
	l.Close()
	if _, err := l.Join([]string{"x"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the end: %v", err)
	}
}
