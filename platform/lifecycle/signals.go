package lifecycle

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Watch returns a context that ends with the first SIGTERM or SIGINT, and calls now for the second and every later
// one. The returned stop function restores the defaults of the signals and waits until the watching has ended; it may
// be called more than once.
func Watch(parent context.Context, now func(os.Signal)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, syscall.SIGTERM, os.Interrupt)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		watch(ch, quit, cancel, now)
	}()
	var once sync.Once
	return ctx, func() {
		once.Do(func() {
			signal.Stop(ch)
			close(quit)
		})
		<-done
		cancel()
	}
}

func watch(ch <-chan os.Signal, quit <-chan struct{}, drain func(), now func(os.Signal)) {
	for n := 0; ; n++ {
		select {
		case sig := <-ch:
			if n == 0 {
				drain()
			} else {
				now(sig)
			}
		case <-quit:
			return
		}
	}
}
