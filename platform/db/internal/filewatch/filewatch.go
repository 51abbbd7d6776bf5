// Package filewatch wakes a reader when a file may have been written.
package filewatch

import "time"

// pollEvery is the pause between two hints if the system reports no writes.
const pollEvery = 200 * time.Millisecond

// Open returns a channel that receives a token after each write to the file, until stop is called. On Linux the kernel
// reports the writes. On other systems, or if the kernel refuses, for example beyond its limit of watches, a token
// comes every 200 milliseconds.
func Open(path string) (hints <-chan struct{}, stop func()) {
	hints, stop, err := notify(path)
	if err != nil {
		return poll(pollEvery)
	}
	return hints, stop
}

func poll(every time.Duration) (<-chan struct{}, func()) {
	out, quit, done := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case <-t.C:
				put(out)
			}
		}
	}()
	return out, func() { close(quit); <-done }
}

// put adds a token unless the channel has one.
func put(out chan<- struct{}) {
	select {
	case out <- struct{}{}:
	default:
	}
}
