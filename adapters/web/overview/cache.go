package overview

import (
	"sync"
	"time"
)

// The ages up to which figures are shown again: those of the day and the fleet, and those of checks that take long.
const (
	slowFor   = 10 * time.Second
	checksFor = 10 * time.Minute
)

// maxCached bounds the accounts whose figures are kept.
const maxCached = 64

// cache keeps figures by account for a while, since each account may read other runs. A page that many look at, or
// that refreshes itself, then costs little.
type cache[T any] struct {
	age time.Duration
	mu  sync.Mutex
	of  map[string]entry[T]
}

type entry[T any] struct {
	value T
	at    time.Time
}

func newCache[T any](age time.Duration) *cache[T] {
	return &cache[T]{age: age, of: map[string]entry[T]{}}
}

// get returns the figures of an account that are not older than the age.
func (c *cache[T]) get(account string, now time.Time) (value T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.of[account]
	return e.value, ok && now.Sub(e.at) < c.age
}

func (c *cache[T]) put(account string, now time.Time, value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.of) >= maxCached {
		clear(c.of)
	}
	c.of[account] = entry[T]{value, now}
}
