package httpapi_test

import (
	"testing"

	"github.com/writ-automation/writ/ports/fault"
)

// TestReceiptOfARunThatIsNotKept requests the receipt of a run that is in the chain but no longer in the records: the
// chain outlives them.
func TestReceiptOfARunThatIsNotKept(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/v1/runs/run_purged/receipt"
	if a := f.call("GET", path, "admin", ""); a.status != 200 || string(a.body) != `{"payload":"run_purged"}` ||
		!f.proofs.receipt.Private {
		t.Errorf("an admin: %d %s", a.status, a.body)
	}
	f.call("GET", path, "viewer", "").problem(t, 404)
	f.call("GET", path, "operator", "").problem(t, 404)
	f.proofs.answer(fault.Missing("run", "run_purged"))
	f.call("GET", path, "admin", "").problem(t, 404)
}
