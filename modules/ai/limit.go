package ai

import (
	"slices"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/clock"
)

// limit counts the questions of each account within a window.
type limit struct {
	clock clock.Clock
	mu    sync.Mutex
	asked map[string][]time.Time // the oldest first
}

func newLimit(c clock.Clock) *limit { return &limit{clock: c, asked: map[string][]time.Time{}} }

// take counts a question, or returns TooMany.
func (l *limit) take(a actor.Actor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	for who, list := range l.asked { // only accounts that asked within the window stay
		list = slices.DeleteFunc(list, func(t time.Time) bool { return now.Sub(t) >= ai.AskWindow })
		if l.asked[who] = list; len(list) == 0 {
			delete(l.asked, who)
		}
	}
	who := string(a.Type) + ":" + a.ID
	if a.ID == "" {
		who += a.Name
	}
	list := l.asked[who]
	if len(list) >= ai.AskLimit {
		f := ai.TooMany.New("an account may ask %d questions within %s", ai.AskLimit, ai.AskWindow)
		f.RetryAfter = ai.AskWindow - now.Sub(list[0])
		return f
	}
	l.asked[who] = append(list, now)
	return nil
}
