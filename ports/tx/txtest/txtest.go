package txtest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Crowd is the number of concurrent units in a race.
const Crowd = 8

// Odd is text with characters that are special in SQL, JSON or patterns.
const Odd = "ünï 'q' \"d\" `b` ? ?? $1 %_ \\ \\n <&> {\"a\":1} 漢字 \U0001F600\u2028\n\ttab"

// Epoch returns the creation time of the records of a case.
func Epoch() time.Time { return time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC) }

// At returns a time after Epoch.
func At(d time.Duration) time.Time { return Epoch().Add(d) }

// Elsewhere returns a zone with an odd offset, since stores must preserve points in time.
func Elsewhere() *time.Location { return time.FixedZone("elsewhere", 5*3600+1800) }

// Cases are cases by their names. E is what a case works with.
type Cases[E any] map[string]func(t *testing.T, e E)

// With returns the cases of several maps, which have distinct names.
func With[E any](all ...Cases[E]) Cases[E] {
	out := Cases[E]{}
	for _, cases := range all {
		maps.Copy(out, cases)
	}
	return out
}

// Group is a part of a suite.
type Group[E any] struct {
	Name  string
	Cases Cases[E]
}

// Run runs every case of the groups. each opens fresh stores for each configuration of the implementation, and calls fn
// in a subtest; env makes of them what a case works with.
func Run[S, E any](
	t *testing.T, groups []Group[E], each func(t *testing.T, fn func(t *testing.T, stores S)), env func(S) E,
) {
	t.Helper()
	for _, g := range groups {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			RunCases(t, g.Cases, each, env)
		})
	}
}

// RunCases is Run for the cases of one group.
func RunCases[S, E any](
	t *testing.T, cases Cases[E], each func(t *testing.T, fn func(t *testing.T, stores S)), env func(S) E,
) {
	t.Helper()
	for name, fn := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, stores S) { fn(t, env(stores)) })
		})
	}
}

// Env is the unit of work of a case and the ids that it has made.
type Env struct {
	unit tx.Unit
	n    atomic.Int64
}

// NewEnv returns the environment of a case.
func NewEnv(u tx.Unit) *Env { return &Env{unit: u} }

// ID returns a new id. Ids sort in the order of their creation.
func (e *Env) ID(p ids.Prefix) string { return fmt.Sprintf("%s%026d", p, e.n.Add(1)) }

// Do runs fn in a unit of work and returns its error.
func (e *Env) Do(t *testing.T, fn func(ctx context.Context) error) error {
	t.Helper()
	return e.unit.Do(t.Context(), fn)
}

// Must runs fn in a unit of work and fails the test on an error.
func (e *Env) Must(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	if err := e.Do(t, fn); err != nil {
		t.Fatalf("unit of work: %v", err)
	}
}

// Refused runs fn in a unit of work that must end with the fault.
func (e *Env) Refused(t *testing.T, code fault.Code, fn func(ctx context.Context) error) {
	t.Helper()
	WantFault(t, e.Do(t, fn), code)
}

// Wins returns how many of n concurrent units succeed. The others must end with the fault.
func (e *Env) Wins(t *testing.T, n int, loser fault.Code, fn func(ctx context.Context, i int) error) int {
	t.Helper()
	var won atomic.Int64
	Together(n, func(i int) {
		if err := e.Do(t, func(ctx context.Context) error { return fn(ctx, i) }); err == nil {
			won.Add(1)
		} else if !loser.Is(err) {
			t.Errorf("a loser gets %v, want %s", err, loser.Name)
		}
	})
	return int(won.Load())
}

// Together runs fn n times concurrently and waits for all.
func Together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	wg.Wait()
}

// WantFault fails the test unless err is a fault of the code.
func WantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !code.Is(err) {
		t.Fatalf("error is %v, want %s", err, code.Name)
	}
}

// NoError fails the test on an error.
func NoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Same compares two values: times as points in time, missing lists as empty ones.
func Same(t *testing.T, what string, want, got any) {
	t.Helper()
	// Equal values need no diff, which is slow for large ones.
	if reflect.DeepEqual(want, got) {
		return
	}
	asBytes := cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), asBytes); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
