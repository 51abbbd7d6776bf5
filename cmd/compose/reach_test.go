package compose

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	portclock "github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// claimed is a relay whose claims a test controls.
type claimed struct {
	execution.ControlPlane
	calls int
	err   error
}

func (c *claimed) Claim(context.Context, runs.ClaimRequest) (*runs.Assignment, error) {
	c.calls++
	if c.err != nil {
		return nil, c.err
	}
	return &runs.Assignment{}, nil
}

// hand is a clock that a test moves.
type hand struct{ now time.Time }

func (h *hand) Now() time.Time { return h.now }

var _ portclock.Clock = (*hand)(nil)

// TestReach claims from a server that does not answer at growing intervals, logs readiness once, and claims without a
// limit while the server answers.
func TestReach(t *testing.T) {
	t.Parallel()
	var log logBuffer
	plane, clock, hellos, ready := &claimed{}, &hand{now: time.Unix(1e9, 0)}, 0, 0
	refused := errors.New("not this token")
	r := &reach{
		ControlPlane: plane, clock: clock, log: log.log(), onAdmitted: func(context.Context) { ready++ },
		hello: func(context.Context) error { hellos++; return refused },
	}
	claim := func(runs int) {
		t.Helper()
		before := plane.calls
		if _, err := r.Claim(t.Context(), request()); err != nil {
			t.Errorf("a claim is an error: %v", err)
		}
		if plane.calls != before+runs {
			t.Errorf("%d claims reached the server, want %d", plane.calls-before, runs)
		}
	}
	for want, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		claim(0)
		claim(0) // too early
		if hellos != want+1 || ready != 0 || r.reached() {
			t.Fatalf("%d hellos after %d pauses, ready %d", hellos, want, ready)
		}
		clock.now = clock.now.Add(pause*time.Second - 1)
		claim(0)
		clock.now = clock.now.Add(1)
	}
	if n := strings.Count(log.String(), "not this token"); n != 7 {
		t.Errorf("the log tells %d times why", n)
	}
	refused = nil
	for range 3 {
		claim(1)
	}
	if hellos != 8 || ready != 1 || !r.reached() {
		t.Errorf("%d hellos, ready %d", hellos, ready)
	}
	plane.err = errors.New("gone")
	claim(1)
	claim(0)
	clock.now = clock.now.Add(-time.Hour) // a clock that is set back delays no claim
	claim(1)
	plane.err = nil
	clock.now = clock.now.Add(2 * time.Second)
	claim(1)
	claim(1)
	if ready != 1 || !strings.Contains(log.String(), "claims runs from the server again") {
		t.Errorf("ready %d, %q", ready, log.String())
	}
}

// TestReachOneAtATime lets one claim find out whether the server answers.
func TestReachOneAtATime(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan error)
	plane := &claimed{}
	var log logBuffer
	r := &reach{
		ControlPlane: plane, clock: &hand{now: time.Unix(1e9, 0)}, log: log.log(), onAdmitted: func(context.Context) {},
		hello: func(context.Context) error { close(asked); return <-answer },
	}
	done := make(chan *runs.Assignment)
	go func() {
		a, _ := r.Claim(t.Context(), request())
		done <- a
	}()
	<-asked
	if a, err := r.Claim(t.Context(), request()); a != nil || err != nil {
		t.Errorf("a second claim while the first one asks: %v %v", a, err)
	}
	answer <- nil
	if a := <-done; a == nil || plane.calls != 1 {
		t.Errorf("%v after %d claims", a, plane.calls)
	}
}

func request() runs.ClaimRequest { return runs.ClaimRequest{Worker: "w"} }
