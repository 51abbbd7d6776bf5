package signin

import (
	"slices"
	"time"
)

// sample is the number of entries of which the one with the fewest failures is removed.
const sample = 16

// table counts failures by key in a sliding window. It removes expired failures, and when it is full an entry with few
// failures: to remove an entry, an attacker has to fill the table with entries of as many failures.
type table[K comparable] struct {
	limit    int
	capacity int
	entries  map[K]*entry
	swept    time.Duration
}

// entry holds the times of the failures of the last window, oldest first.
type entry struct {
	times   []time.Duration
	refused bool // since the last failure was added
}

// wait returns how long the key has to wait, zero if it is below the limit, and whether this is its first refusal in a
// row.
func (t *table[K]) wait(k K, now time.Duration) (wait time.Duration, first bool) {
	e := t.entries[k]
	if e == nil {
		return 0, false
	}
	e.expire(now)
	if len(e.times) < t.limit {
		return 0, false
	}
	first = !e.refused
	e.refused = true
	return e.times[0] + window - now, first
}

func (t *table[K]) add(k K, now time.Duration) {
	e := t.entries[k]
	if e == nil {
		t.makeSpace(now)
		e = &entry{}
		t.entries[k] = e
	}
	e.times, e.refused = append(e.times, now), false
}

// push adds a time beyond the limit as well, and reports that. It keeps no more times than the limit.
func (t *table[K]) push(k K, now time.Duration) (beyond bool) {
	wait, _ := t.wait(k, now)
	if t.add(k, now); wait > 0 {
		e := t.entries[k]
		e.times = slices.Delete(e.times, 0, 1)
	}
	return wait > 0
}

func (t *table[K]) remove(k K, at time.Duration) {
	e := t.entries[k]
	if e == nil {
		return
	}
	if i := slices.Index(e.times, at); i >= 0 {
		e.times = slices.Delete(e.times, i, i+1)
	}
	if len(e.times) == 0 {
		delete(t.entries, k)
	}
}

func (t *table[K]) clear(k K) { delete(t.entries, k) }

// makeSpace makes room for one entry.
func (t *table[K]) makeSpace(now time.Duration) {
	if t.entries == nil {
		t.entries = make(map[K]*entry)
	}
	if now-t.swept >= window {
		t.swept = now
		for k, e := range t.entries {
			if e.expire(now); len(e.times) == 0 {
				delete(t.entries, k)
			}
		}
	}
	if len(t.entries) >= t.capacity {
		t.evict(now)
	}
}

// evict removes the entry with the fewest failures of a random sample.
func (t *table[K]) evict(now time.Duration) {
	var victim K
	fewest, looked := -1, 0
	for k, e := range t.entries { // in random order, so that the sample is not predictable
		if e.expire(now); fewest < 0 || len(e.times) < fewest {
			victim, fewest = k, len(e.times)
		}
		if looked++; looked == sample {
			break
		}
	}
	delete(t.entries, victim)
}

// expire removes the failures before the window.
func (e *entry) expire(now time.Duration) {
	n := 0
	for n < len(e.times) && now-e.times[n] >= window {
		n++
	}
	e.times = slices.Delete(e.times, 0, n)
}
