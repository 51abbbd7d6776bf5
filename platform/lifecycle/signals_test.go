package lifecycle_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/lifecycle"
)

// TestWatch is not parallel: signals reach the whole process.
func TestWatch(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreAnyFunction("os/signal.loop"))
	second := make(chan os.Signal, 4)
	ctx, stop := lifecycle.Watch(context.Background(), func(s os.Signal) { second <- s })
	defer stop()
	send := func(s syscall.Signal) {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	send(syscall.SIGTERM)
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the first signal did not end the context")
	}
	if len(second) != 0 {
		t.Fatal("the first signal counts as the second")
	}
	send(syscall.SIGINT)
	select {
	case s := <-second:
		if s != syscall.SIGINT {
			t.Errorf("told of %v", s)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the second signal was not told")
	}
	stop()
}

func TestStopWithoutSignal(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreAnyFunction("os/signal.loop"))
	ctx, stop := lifecycle.Watch(context.Background(), func(os.Signal) { t.Error("no signal was sent") })
	if ctx.Err() != nil {
		t.Error("the context ended by itself")
	}
	stop()
	if ctx.Err() == nil {
		t.Error("stop leaves the context open")
	}
}
