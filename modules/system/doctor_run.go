package system

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/system"
)

// checkRunner is a check with its current run.
type checkRunner struct {
	check system.Check
	name  string
	busy  atomic.Bool
}

// checkRun is one run of a check. Its result is read after done is closed.
type checkRun struct {
	done  chan struct{}
	found system.Examination
	err   error
}

var (
	errPanicked = errors.New("the check panicked")
	errUnended  = errors.New("the check ended without an answer")
)

// runCheck runs a check with its timeout. A failure is added as a finding to those that it made before.
func (d *Doctor) runCheck(s *checkRunner) system.Examination {
	a := d.begin(s)
	if a == nil {
		return system.Examination{Findings: []system.Finding{blind(
			"the check %s still runs from an earlier examination", s.name)}}
	}
	limit := time.NewTimer(checkWithin)
	defer limit.Stop()
	select {
	case <-a.done:
	case <-limit.C:
		d.log.Error("a check of the doctor hangs", "check", s.name)
		return system.Examination{Findings: []system.Finding{late(s.name)}}
	}
	if a.err != nil {
		d.log.Error("a check of the doctor could not run", "check", s.name, "error", a.err)
		a.found.Findings = append(a.found.Findings, failed(s.name, a.err))
	}
	return a.found
}

// begin starts a check. It returns nil if the check still runs since an earlier examination timed out.
func (d *Doctor) begin(s *checkRunner) *checkRun {
	if !s.busy.CompareAndSwap(false, true) {
		return nil
	}
	d.mu.Lock()
	d.alive++ // the calling examination is alive itself, so idle is not closed yet
	d.mu.Unlock()
	a := &checkRun{done: make(chan struct{}), err: errUnended}
	go func() {
		defer d.leave()
		defer close(a.done)
		defer s.busy.Store(false)
		defer func() {
			if v := recover(); v != nil {
				d.log.Error("a check of the doctor panicked", "check", s.name, "panic", v, "stack", string(debug.Stack()))
				a.err = errPanicked
			}
		}()
		ctx, cancel := context.WithTimeout(d.ctx, checkWithin-settling)
		defer cancel()
		a.found, a.err = s.check.Examine(ctx)
	}()
	return a
}

// failed converts a check's error to a finding, which contains only the message of a fault.
func failed(name string, err error) system.Finding {
	var f *fault.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return late(name)
	case errors.Is(err, errPanicked):
		return blind("the check %s failed unexpectedly", name)
	case errors.As(err, &f) && f.Kind != fault.Internal && f.Message != "":
		return blind("the check %s could not run: %s", name, clip(f.Message))
	default:
		return blind("the check %s could not run", name)
	}
}

func late(name string) system.Finding {
	return blind("the check %s did not end within %d seconds", name, int(checkWithin/time.Second))
}

// blindPage is the page about checks that could not examine.
const blindPage = "/docs/guides/doctor.md"

// blind returns the finding of a check that could not examine.
func blind(format string, args ...any) system.Finding {
	return system.Finding{
		Severity: system.Error, Problem: fmt.Sprintf(format, args...),
		Fix:  "read in the server's log why, and examine the install again once that is repaired",
		Link: blindPage,
	}
}
