package estatetest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func fleetOutcomes(t *testing.T, e *fleetEnv) {
	want := func(want map[runs.Outcome]int64) {
		t.Helper()
		got, err := e.Fleet.Outcomes(t.Context())
		txtest.NoError(t, err)
		for o, n := range got {
			if n == 0 {
				delete(got, o)
			}
		}
		txtest.Same(t, "outcomes", want, got)
	}
	want(map[runs.Outcome]int64{})
	e.store(t, e.report(time.Hour, on("a", runs.HostOK), on("b", runs.HostFailed)))
	want(map[runs.Outcome]int64{runs.HostOK: 1, runs.HostFailed: 1})
	e.store(t, e.report(0, on("a", runs.HostFailed), on("c", runs.HostIncomplete)))
	want(map[runs.Outcome]int64{runs.HostOK: 1, runs.HostFailed: 1, runs.HostIncomplete: 1})
	e.store(t, e.report(2*time.Hour, on("a", runs.HostOK), on("b", runs.HostOK), on("c", runs.HostOK)))
	want(map[runs.Outcome]int64{runs.HostOK: 3})
	err := e.Do(t, func(ctx context.Context) error {
		return e.Fleet.Report(ctx, e.report(3*time.Hour, on("a", "none")))
	})
	if err == nil || fault.KindOf(err) != fault.Internal {
		t.Errorf("an unknown outcome: %v", err)
	}
}

func fleetTrim(t *testing.T, e *fleetEnv) {
	txtest.NoError(t, e.Restrict(t.Context(), access.Queue("b"), []string{"user:usr_1"}))
	for i := range 9 {
		r := e.report(time.Duration(i)*time.Hour, on("a", runs.HostOK))
		if i < 2 {
			r = in("b", r)
			r.Hosts = append(r.Hosts, on("b", runs.HostFailed))
		}
		e.store(t, r)
	}
	trim := func(keep, limit int) int {
		t.Helper()
		var n int
		e.Must(t, func(ctx context.Context) (err error) { n, err = e.Fleet.Trim(ctx, keep, limit); return err })
		return n
	}
	if n := trim(9, 100); n != 0 {
		t.Errorf("%d were deleted that should stay", n)
	}
	// The oldest one goes, and its run stays for the other host.
	if n := trim(3, 1); n != 1 {
		t.Errorf("%d were deleted", n)
	}
	txtest.Same(t, "the hosts", []string{"b 2/2 failed 0 false ff", "a 0/8 ok 0 false oooooooo"},
		e.hosts(t, whole(), access.Everything()))
	// Five results of one host, and four runs that nothing names any more.
	if n := trim(3, 100) + trim(3, 100); n != 9 {
		t.Errorf("%d were deleted", n)
	}
	for _, s := range []access.Scope{access.Everything(), ada} {
		txtest.Same(t, "the hosts", []string{"b 2/2 failed 0 false ff", "a 0/3 ok 0 false ooo"}, e.hosts(t, whole(), s))
	}
	if a, b := e.runs(t, "a", 9, ada), e.runs(t, "b", 9, ada); len(a) != 3 || len(b) != 2 || b[1].Name != "nightly" {
		t.Errorf("%+v, %+v", a, b)
	}
	if n := trim(3, 100); n != 0 {
		t.Errorf("%d were deleted again", n)
	}
}
