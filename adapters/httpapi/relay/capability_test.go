package relay_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// TestCapability checks that every capability that does not hold the run gets the same refusal, which does not reveal
// whether the run exists.
// Keeps T01.
func TestCapability(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const otherRun = "run_01k0a7zz3vtx5zk9w2m4n6p8rs"
	firstBody := ""
	lost := func(c call, asked bool, header ...string) {
		t.Helper()
		a := f.Call(c.method, c.path, workerToken, c.body, header...)
		a.Problem(409, "lease_lost")
		if firstBody == "" {
			firstBody = a.Body
		}
		if a.Body != firstBody {
			t.Errorf("%s %s: %s, elsewhere %s", c.method, c.path, a.Body, firstBody)
		}
		if got := f.plane.take(); (len(got) > 0) != asked {
			t.Errorf("%s with %q: the other side was asked %v", c.id, header, got)
		}
	}
	for _, c := range f.calls(t) {
		if c.id == "claim-run" {
			continue
		}
		lost(c, false)
		for _, malformed := range []string{
			"", " ", "x", capability[1:], capability + "A", capability + "=", capability[:42] + "B",
			strings.Repeat("+", 42) + "A", strings.Repeat("/", 42) + "A",
			capability + ", " + another, strings.Repeat("A", 4000), "Bearer " + capability, "caf\xe9",
		} {
			lost(c, false, execution.CapabilityHeader, malformed)
		}
		lost(c, true, execution.CapabilityHeader, another)
		lost(c, true, execution.CapabilityHeader, " "+another+" ")
		for _, id := range []string{
			"x", "run_", strings.ToUpper(c.held), c.held + "0", c.held[:29], "usr" + c.held[3:],
			"run_01k0a8bq3vtx5zk9w2m4n6p8r%2F",
			"%2e%2e", "run_01k0a8bq3vtx5zk9w2m4n6p8r%C3",
		} {
			elsewhere := c
			elsewhere.path, elsewhere.body = strings.Replace(c.path, c.held, id, 1),
				strings.Replace(c.body, c.held, strings.ReplaceAll(id, "%", "_"), 1)
			if strings.HasSuffix(id, "%C3") && strings.Contains(c.path, c.held) {
				f.report(elsewhere.method, elsewhere.path, elsewhere.body).Problem(400, "invalid") // no text at all
				continue
			}
			lost(elsewhere, false, execution.CapabilityHeader, capability)
		}
		elsewhere := c
		elsewhere.path, elsewhere.body = strings.Replace(c.path, c.held, c.held[:3]+otherRun[3:], 1),
			strings.Replace(c.body, c.held, c.held[:3]+otherRun[3:], 1)
		lost(elsewhere, true, execution.CapabilityHeader, capability)
	}
	if strings.Contains(firstBody, "epoch") || strings.Contains(firstBody, "run_") {
		t.Errorf("the refusal tells of the run: %s", firstBody)
	}
	if log := f.Log.String(); !strings.Contains(log, `"reason":"lease_lost"`) ||
		!strings.Contains(log, "is at epoch 3 with somebody else") {
		t.Errorf("the log does not say why: %s", log)
	}
}

// TestFailures checks that faults are returned as elsewhere, and that internal errors are not shown.
func TestFailures(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, row := range []struct {
		err    error
		status int
		reason string
	}{
		{errGone, 500, "internal"},
		{fault.Wrap(fault.Unavailable, errGone, "try again"), 503, "unavailable"},
		{fault.BadField("heads[0]", "is no note"), 400, "invalid"},
		{runs.SequenceGap.New("the next is 4"), 409, "sequence_gap"},
		{runs.RunStateChanged.New("it is over"), 409, "run_state_changed"},
		{catalog.InventoryNotFound.New("the run names none"), 404, "inventory_not_found"},
		{catalog.ProjectNotFound.New("the run names none"), 404, "project_not_found"},
		{catalog.CommitNotFound.New("it is gone"), 404, "commit_not_found"},
		{execution.QueueDenied.New("not for workers"), 403, "queue_denied"},
		{runs.LeaseLost.New("it is over"), 409, "lease_lost"},
		{errors.Join(errGone, runs.LeaseLost.New("it is over")), 409, "lease_lost"},
	} {
		f.plane.answer(row.err)
		for _, c := range f.calls(t) {
			a := f.report(c.method, c.path, c.body)
			a.Problem(row.status, row.reason)
			if strings.Contains(a.Body, "SQLSTATE") {
				t.Errorf("%s: %s", c.id, a.Body)
			}
			if row.status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
				t.Errorf("%s: nobody knows when to try again", c.id)
			}
		}
	}
	if n := len(f.Recorder.Entries()); n != 0 {
		t.Errorf("%d entries in the trail", n)
	}
}
