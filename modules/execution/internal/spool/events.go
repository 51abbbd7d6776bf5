package spool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/writ-automation/writ/ports/runs"
)

// eventMem is how many bytes of events wait in memory before they go to the file.
const eventMem = 1 << 20

// ErrClosed is returned by Put after Close.
var ErrClosed = errors.New("the events' spool is closed")

// Events is the queue of a run's events: those in the file come before those in memory. One goroutine may add while
// another takes.
type Events struct {
	mu       sync.Mutex
	notFull  *sync.Cond
	path     string
	limit    int64
	f        *os.File
	from, to int64 // the interval of the file that waits
	mem      []runs.Event
	memBytes int64
	inFlight int   // events that Take returned
	lens     []int // their lengths in the file, if they are there
	closed   bool
}

// NewEvents makes a queue that spills to a file at path, created on first use, of at most limit bytes.
func NewEvents(path string, limit int64) *Events {
	q := &Events{path: path, limit: limit}
	q.notFull = sync.NewCond(&q.mu)
	return q
}

// Size estimates the size of an event.
func Size(e *runs.Event) int64 {
	n := 160 + len(e.Diff) + len(e.Stats) + len(e.Facts) + len(e.Outputs)
	for _, s := range e.Texts() {
		n += len(*s)
	}
	return int64(n)
}

// Put adds an event. It waits only while both memory and file are full; it returns ErrClosed after Close.
func (q *Events) Put(e runs.Event) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.memBytes >= eventMem && !q.spill() {
		q.notFull.Wait()
	}
	if q.closed {
		return ErrClosed
	}
	q.mem = append(q.mem, e)
	q.memBytes += Size(&e)
	return nil
}

// spill appends the events in memory to the file and reports whether that succeeded.
func (q *Events) spill() bool {
	var buf bytes.Buffer
	var lens []int
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for i := range q.mem {
		before := buf.Len()
		if err := enc.Encode(&q.mem[i]); err != nil {
			return false
		}
		if i < q.inFlight && q.from == q.to {
			lens = append(lens, buf.Len()-before)
		}
	}
	if q.to+int64(buf.Len()) > q.limit || !q.write(buf.Bytes()) {
		return false
	}
	if q.from == q.to-int64(buf.Len()) {
		q.lens = lens
	}
	q.mem, q.memBytes = nil, 0
	return true
}

func (q *Events) write(p []byte) bool {
	if q.f == nil {
		f, err := os.OpenFile(q.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return false
		}
		q.f = f
	}
	if _, err := q.f.WriteAt(p, q.to); err != nil {
		_ = q.f.Truncate(q.to) // half a record must not remain
		return false
	}
	q.to += int64(len(p))
	return true
}

// Take returns the next events, at most n and about size bytes. It returns them again until Ack, and returns none when
// all were acknowledged.
func (q *Events) Take(n int, size int64) ([]runs.Event, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight, q.lens = 0, nil
	if q.from < q.to {
		return q.load(n, size)
	}
	var sum int64
	for q.inFlight < len(q.mem) && q.inFlight < n && (q.inFlight == 0 || sum < size) {
		sum += Size(&q.mem[q.inFlight])
		q.inFlight++
	}
	return q.mem[:q.inFlight:q.inFlight], nil
}

func (q *Events) load(n int, size int64) ([]runs.Event, error) {
	r := bufio.NewReader(io.NewSectionReader(q.f, q.from, q.to-q.from))
	var out []runs.Event
	for sum := int64(0); len(out) < n && sum < size; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the spooled events: %w", err)
		}
		var e runs.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read a spooled event: %w", err)
		}
		out = append(out, e)
		q.lens = append(q.lens, len(line))
		sum += int64(len(line))
	}
	q.inFlight = len(out)
	return out, nil
}

// Ack removes the events of the last Take.
func (q *Events) Ack() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.from < q.to {
		for _, n := range q.lens {
			q.from += int64(n)
		}
		if q.from == q.to {
			q.from, q.to = 0, 0
			_ = q.f.Truncate(0) // readers recognise an old record by its number
		}
	} else {
		for i := range q.inFlight {
			q.memBytes -= Size(&q.mem[i])
		}
		q.mem = q.mem[q.inFlight:]
	}
	q.inFlight, q.lens = 0, nil
	q.notFull.Broadcast()
}

// Pending reports whether events wait, and about how many bytes.
func (q *Events) Pending() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.to - q.from + q.memBytes
}

// Persist moves events from memory to the file, while there is space.
func (q *Events) Persist() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mem) > 0 {
		q.spill()
	}
}

// Close wakes all waiting goroutines and closes the file, which it does not remove.
func (q *Events) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if q.f != nil {
		_ = q.f.Close() // later readers open it by its path
		q.f = nil
		q.from, q.to = 0, 0
	}
	q.notFull.Broadcast()
}

// Abort wakes all waiting goroutines; every Put afterwards returns ErrClosed.
func (q *Events) Abort() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.notFull.Broadcast()
}

// ReadEvents calls yield with the events of a queue's file in order; some may have been acknowledged before the
// process ended. It stops at an incomplete record. A missing file has none.
func ReadEvents(path string, yield func(runs.Event) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the spooled events: %w", err)
	}
	defer func() { _ = f.Close() }()
	dec := json.NewDecoder(f)
	for {
		var e runs.Event
		if dec.Decode(&e) != nil {
			return nil
		}
		if err := yield(e); err != nil {
			return err
		}
	}
}
