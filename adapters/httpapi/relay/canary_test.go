package relay_test

import (
	"context"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// secretTexts are the worker token, the capability, and what a claim brings.
func secretTexts() []string {
	return []string{
		workerToken, capability, "C4naryEnv", "C4naryVar", "C4naryFile", "C4naryKey", "C4naryPass", "C4naryBecome",
		"C4naryVault", "C4naryHide", "QzRuYXJ5RmlsZQ",
		"c4n4ry",
	}
}

func silent(t *testing.T, where, text string) {
	t.Helper()
	for _, s := range secretTexts() {
		if strings.Contains(text, s) {
			t.Errorf("%s holds %s: %.300s", where, s, text)
		}
	}
}

// TestSecretsGoToTheirClaimAlone checks that a claim returns the secrets once, and that no other answer, refusal, log
// line or document contains any.
// Keeps T03.
func TestSecretsGoToTheirClaimAlone(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.plane.claims(func(context.Context, execution.RelayClaim) (*execution.Grant, string, error) {
		return &execution.Grant{Run: run(), Capability: capability, Lease: runs.LeaseTTL, Secrets: full()}, "", nil
	})
	if a := f.report("POST", "/relay/v1/claim", claimBody); a.Status != 200 || !strings.Contains(a.Body, "C4naryHide") {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for _, err := range []error{
		nil, errGone, fault.Wrap(fault.Unavailable, errGone, "try again"), runs.LeaseLost.New("it is over"),
		fault.BadField("status", "is no status"),
	} {
		f.plane.answer(err)
		for _, c := range f.calls(t) {
			if err == nil && c.id == "claim-run" {
				continue
			}
			silent(t, c.id, f.report(c.method, c.path, c.body).Body)
			silent(t, c.id, f.report(c.method, c.path, c.body, "Authorization", "Basic "+workerToken).Body)
			silent(t, c.id, f.report(c.method, c.path, c.body, "Authorization", "Bearer "+workerToken+"x").Body)
			silent(t, c.id, f.report(c.method, c.path, c.body, execution.CapabilityHeader, capability+"A").Body)
			silent(t, c.id, f.report(c.method, c.path+"?token="+workerToken, c.body).Body)
		}
	}
	json, yaml, err := f.Router.Document()
	if err != nil {
		t.Fatal(err)
	}
	silent(t, "the API document", string(json)+string(yaml))
	if !strings.Contains(string(json), execution.CapabilityHeader) {
		t.Error("the API document says nothing of the relay")
	}
	silent(t, "the log", f.Log.String())
}

// TestNoReportIsEchoed sends a secret in an invalid member and searches the refusal and the log for it.
// Keeps T54.
func TestNoReportIsEchoed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const canary = "c4n4ry"
	refused := 0
	for _, c := range f.calls(t) {
		for _, member := range []string{
			"worker", "queues", "heads", "run_id", "status", "exit_code", "error", "outputs", "warnings",
			"offset", "data", "events", "hosts", "tasks", "facts",
		} {
			for _, value := range []string{
				`"` + canary + `"`, `["` + canary + `"]`, `{"a":"` + canary + `"}`, `[{"host":["` + canary + `"],"stdout":7}]`,
				`"` + canary, `"` + canary + `\u0000"`,
				`[{"seq":"` + canary + `","at":"` + canary + `"}]`,
			} {
				a := f.report(c.method, c.path, `{"`+member+`":`+value+`}`)
				if silent(t, c.id, a.Body); a.Status == 400 {
					refused++
				}
			}
		}
	}
	if refused < 850 {
		t.Errorf("only %d were refused", refused)
	}
	silent(t, "the log", f.Log.String())
}
