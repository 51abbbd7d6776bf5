package goplugin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
	"github.com/writ-automation/writ/ports/waittest"
)

// TestCallsAtOnce checks that a plugin gets a bounded number of calls at once, and that one more waits for its turn.
// Keeps T09.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	h, dir, _ := started(t, quick(), "good")
	diary := h.Notifiers()["diary"]
	touched(t, filepath.Join(dir, ".hanging"), "")
	ctx, end := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 32 {
		calls.Go(func() { _ = diary.Notify(ctx, extension.EndedRun{ID: "run_1"}) })
	}
	p := h.plugins[0]
	waittest.Eventually(t, time.Minute, "all calls are made", func() bool { return len(p.slots) == 32 })
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := diary.Notify(soon, extension.EndedRun{ID: "run_2"}); !errors.Is(err, errBusy) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call beyond the bound: %v", err)
	}
	late := make(chan error, 1)
	go func() { late <- diary.Notify(t.Context(), extension.EndedRun{ID: "run_3"}) }()
	if err := os.Remove(filepath.Join(dir, ".hanging")); err != nil {
		t.Fatal(err)
	}
	end()
	calls.Wait()
	if err := <-late; err != nil {
		t.Errorf("the call that waited: %v", err)
	}
}

// TestRequestSize checks that a request beyond its bound is an error that does not reach the plugin, which goes on.
// Keeps T09.
func TestRequestSize(t *testing.T) {
	t.Parallel()
	h, dir, _ := started(t, quick(), "good")
	for size, want := range map[int]string{wire.MaxRequest - 100: "", wire.MaxRequest + 1: "too large"} {
		err := h.Notifiers()["diary"].Notify(t.Context(),
			extension.EndedRun{ID: "run_1", Record: bytes.Repeat([]byte("1"), size)})
		if !fits(err, want) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if heard := words(t, filepath.Join(dir, ".diary")); len(heard) != 1 || h.status("good").Restarts != 0 {
		t.Errorf("heard %v, %+v", heard, h.status("good"))
	}
}
