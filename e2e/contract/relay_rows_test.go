package contract

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// relayRows are the calls of workers. A worker without a claim gets the same refusal for every run.
func relayRows() map[string]row {
	lost := func(body any) row {
		return row{worker: true, body: body, status: http.StatusConflict, missing: "lease_lost"}
	}
	const id = "run_00000000000000000000000000"
	return map[string]row{
		"claim-run": {worker: true, status: http.StatusNoContent, body: harness.Body{
			"worker": harness.Body{"name": "w", "executors": 1}, "queues": []string{"nobodys"},
		}},
		"renew-lease": lost(harness.Body{"run_id": id}), "fetch-run": lost(nil), "fetch-inventory": lost(nil),
		"fetch-project": lost(nil),
		"save-run":      lost(harness.Body{"status": "failed"}), "append-log": lost(harness.Body{"offset": 0}),
		"append-events":     lost(harness.Body{"events": []any{}}),
		"save-host-summary": lost(harness.Body{"hosts": []any{}}), "save-task-summary": lost(harness.Body{"tasks": []any{}}),
		"save-host-facts": lost(harness.Body{"facts": []any{}}),
		"propose-apply":   lost(harness.Body{"summary": "", "digest": "a", "findings": []any{}}),
		"divide-run":      lost(harness.Body{"hosts": []string{"a"}}),
		"renew-work":      lost(harness.Body{}), "fetch-work-project": lost(nil),
		"finish-work": lost(harness.Body{"error": "it broke"}),
	}
}

// byWorkers calls an operation of the relay as every caller: every account is refused, whatever its role, and the
// worker token is accepted.
func byWorkers(t *testing.T, s *harness.Server, op operation, r row, by map[identity.Role]string) {
	t.Helper()
	path := absent(op.Path)
	bad := path + "?no_such_parameter=1"
	for _, token := range append(slices.Sorted(maps.Values(by)), "", harness.WorkerToken+"x", harness.WorkerToken[1:]) {
		if p := refused(t, op.ID+" by a stranger", s.As(token).Do(op.Method, bad, `{"x":`),
			http.StatusUnauthorized); p.Reason != "bad_worker_token" {
			t.Errorf("%s: reason %q", op.ID, p.Reason)
		}
		refused(t, op.ID+" by a stranger", s.As(token).Do(op.Method, path, r.body), http.StatusUnauthorized)
	}
	worker := s.As(harness.WorkerToken)
	if p := refused(t, op.ID+" with an unknown parameter", worker.Do(op.Method, bad, r.body),
		http.StatusBadRequest); p.at() != "no_such_parameter" {
		t.Errorf("%s: the field at fault is %q", op.ID, p.at())
	}
	for _, capability := range []string{"", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"} {
		a := worker.Do(op.Method, path, r.body, "Relay-Capability", capability)
		if a.Status != r.status {
			t.Errorf("%s: %d, want %d: %s", op.ID, a.Status, r.status, a.Body)
		}
		if r.missing != "" {
			if p := refused(t, op.ID, a, r.status); p.Reason != r.missing {
				t.Errorf("%s: reason %q", op.ID, p.Reason)
			}
		}
	}
}

// TestRelayIsDisabled: without a worker token the relay refuses every caller.
func TestRelayIsDisabled(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	calls := relayRows()
	for _, op := range operations(t, s.Client) {
		r, ok := calls[op.ID]
		if !ok {
			continue
		}
		delete(calls, op.ID)
		for _, token := range []string{"", s.Token, harness.WorkerToken} {
			if p := refused(t, op.ID, s.As(token).Do(op.Method, absent(op.Path), r.body),
				http.StatusNotFound); p.Reason != "relay_disabled" {
				t.Errorf("%s: reason %q", op.ID, p.Reason)
			}
		}
	}
	for id := range calls {
		t.Errorf("the document has no %s", id)
	}
}
