package background_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/fault"
)

// TestRetry retries what is unavailable, and nothing else.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken, busy := errors.New("broken"), fault.Wrap(fault.Unavailable, errors.New("busy"), "busy")
		for _, last := range []error{nil, broken} {
			n := 0
			err := background.Retry(t.Context(), func(context.Context) error {
				if n++; n < 20 {
					return busy
				}
				return last
			})
			if !errors.Is(err, last) || n != 20 {
				t.Errorf("%d calls: %v", n, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := background.Retry(ctx, func(context.Context) error { return busy }); !fault.Is(err, fault.Unavailable) {
			t.Error(err)
		}
	})
}
