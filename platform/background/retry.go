package background

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// The pauses between the attempts of Retry grow from the first value to the longest.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

// Retry calls fn until it succeeds, fails with another fault than Unavailable, or ctx ends. It is for handlers of
// events that must not be lost, since the bus retries only briefly.
func Retry(ctx context.Context, fn func(ctx context.Context) error) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := fn(ctx)
		if !fault.Is(err, fault.Unavailable) || !Wait(ctx, pause) {
			return err
		}
	}
}
