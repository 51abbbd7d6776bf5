package relay

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
)

// signals are the channels of one watcher by topic.
type signals struct {
	topics  map[string]chan string
	stopped int
}

func (s *signals) Signal(_ context.Context, topic, payload string) error {
	s.topics[topic] <- payload
	return nil
}

func (s *signals) Watch(topic string) (<-chan string, func()) {
	return s.topics[topic], func() { s.stopped++ }
}

func enter(t *testing.T, l *waitList, queues ...string) *waiter {
	t.Helper()
	p, err := l.join(queues)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// woken counts the places that have a token, and takes the tokens.
func woken(list ...*waiter) string {
	out := ""
	for _, p := range list {
		select {
		case <-p.woken():
			out += "1"
		default:
			out += "0"
		}
	}
	return out
}

// TestOneOfEachIsWoken checks that the longest waiting entry of each set of queues with the queue is woken, and the
// next if the first has a token.
func TestOneOfEachIsWoken(t *testing.T) {
	t.Parallel()
	l := newWaitList(nil, 10)
	defer l.close()
	list := []*waiter{enter(t, l, "a"), enter(t, l, "a", "a"), enter(t, l, "b", "a"), enter(t, l, "a", "b"),
		enter(t, l, "c")}
	l.wake("a")
	if got := woken(list...); got != "10100" {
		t.Errorf("woken are %s", got)
	}
	l.wake("a")
	l.wake("a")
	l.wake("a")
	if got := woken(list...); got != "11110" {
		t.Errorf("woken are %s", got)
	}
	l.wake("")
	if got := woken(list...); got != "10101" {
		t.Errorf("woken are %s", got)
	}
	l.wake("c")
	l.wake("d")
	if got := woken(list...); got != "00001" {
		t.Errorf("woken are %s", got)
	}
}

// TestATokenIsPassedOn checks that an entry with an unused token wakes another one of its queues when it leaves.
func TestATokenIsPassedOn(t *testing.T) {
	t.Parallel()
	l := newWaitList(nil, 10)
	defer l.close()
	first, second := enter(t, l, "a"), enter(t, l, "a")
	l.wake("a")
	first.leave()
	first.leave()
	if got := woken(second); got != "1" {
		t.Error("the token is lost")
	}
	second.leave()
	l.wake("a")
	if got := woken(second); got != "0" {
		t.Error("one who left is woken")
	}
}

// TestSignalsAndTheClockWake: a signal wakes at once, and the clock each second where none comes.
func TestSignalsAndTheClockWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &signals{topics: map[string]chan string{
			events.TopicQueue: make(chan string, 1), events.TopicWorker: make(chan string, 1),
		}}
		l := newWaitList(s, 10)
		a, b := enter(t, l, "a"), enter(t, l, "b")
		if err := s.Signal(t.Context(), events.TopicQueue, "b"); err != nil {
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
		if err := s.Signal(t.Context(), events.TopicWorker, "wkt_1"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := woken(a, b); got != "11" {
			t.Errorf("after a token was revoked woken are %s", got)
		}
		l.close()
		l.close()
		if s.stopped != len(s.topics) {
			t.Error("the signals are watched after the end")
		}
		<-l.done()
	})
}

// TestTheLineIsBounded refuses one too many and, once it is closed, everybody.
func TestTheLineIsBounded(t *testing.T) {
	t.Parallel()
	l := newWaitList(nil, 3)
	var last *waiter
	for i := range 3 {
		last = enter(t, l, fmt.Sprint(i))
	}
	if _, err := l.join([]string{"x"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a fourth gets %v", err)
	}
	last.leave()
	enter(t, l, "x")
	l.close()
	if _, err := l.join([]string{"x"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the end: %v", err)
	}
}
