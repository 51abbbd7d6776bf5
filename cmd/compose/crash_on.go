//go:build crashpoints

package compose

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/tx"
)

// trap ends the process with SIGKILL, like a power cut, at the point that WRIT_CRASH_POINT names, and only while the
// file exists that WRIT_CRASH_ARM names. A number in that file selects the pass through the point, from 1, counted from
// the first time that the file was found. Only builds for tests contain it.
type trap struct {
	point, arm string
	mu         sync.Mutex
	passed     int
}

func newTrap() *trap {
	t := &trap{point: os.Getenv("WRIT_CRASH_POINT"), arm: os.Getenv("WRIT_CRASH_ARM")}
	if t.point == "" || t.arm == "" {
		return nil
	}
	return t
}

// crash returns the function that an executor calls at its points.
func crash() func(point string) {
	if t := newTrap(); t != nil {
		return t.pass
	}
	return nil
}

func (t *trap) pass(point string) {
	if point != t.point {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	raw, err := os.ReadFile(t.arm)
	if err != nil {
		return
	}
	at, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		at = 1
	}
	if t.passed++; t.passed == at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// crashing adds points around the commit of every unit of work: unit-before-commit and unit-after-commit, and for units
// of API requests request-before-commit and request-after-commit as well.
func crashing(u tx.Unit) tx.Unit {
	if t := newTrap(); t != nil {
		return &trappedUnit{unit: u, trap: t}
	}
	return u
}

type trappedUnit struct {
	unit tx.Unit
	trap *trap
}

type trappedKey struct{}

// A nested call has no commit of its own and so no points.
func (u *trappedUnit) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if ctx.Value(trappedKey{}) != nil {
		return u.unit.Do(ctx, fn)
	}
	err := u.unit.Do(ctx, func(ctx context.Context) error {
		if err := fn(context.WithValue(ctx, trappedKey{}, true)); err != nil {
			return err
		}
		u.pass(ctx, "before-commit")
		return nil
	})
	if err == nil {
		u.pass(ctx, "after-commit")
	}
	return err
}

func (u *trappedUnit) pass(ctx context.Context, point string) {
	u.trap.pass("unit-" + point)
	if actor.From(ctx).Type == actor.User {
		u.trap.pass("request-" + point)
	}
}
