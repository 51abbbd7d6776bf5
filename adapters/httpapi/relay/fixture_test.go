package relay_test

import (
	"context"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	relayapi "github.com/writ-automation/writ/adapters/httpapi/relay"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/policy"
)

// TestMain checks that no server, no waiting claim and no stream outlives the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

const (
	workerToken = "w0rkerT0kenC4nary"
	// capability holds the run held.
	capability = "Q4pabilityC4naryQ4pabilityC4naryQ4pabilityA"
	another    = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA"
	held       = "run_01k0a8bq3vtx5zk9w2m4n6p8rs"
	heldWork   = "src_01k0a8bq3vtx5zk9w2m4n6p8rs"
)

type fixture struct {
	*httpapitest.Server
	plane *fakePlane
}

func setup(t *testing.T, change ...func(*httpapi.Config)) *fixture {
	t.Helper()
	f := &fixture{plane: newFakePlane()}
	config := httpapi.Config{Version: "1", WorkerToken: workerToken}
	for _, c := range change {
		c(&config)
	}
	f.Server = httpapitest.Serve(t, config, relayapi.New(params(f.plane)))
	return f
}

// inForce is a set of policies with a tag.
type inForce struct{ policy.Policies }

func (inForce) InForce(context.Context) ([]policy.Policy, string, error) { return nil, "t4g", nil }

func params(s *fakePlane) relayapi.Params {
	return relayapi.Params{Relay: s, Journal: s, Materials: s, Works: s, Policies: inForce{}}
}

// report calls as the worker that holds the run. Further headers rule.
func (f *fixture) report(method, path, body string, header ...string) httpapitest.Answer {
	return f.Call(method, path, workerToken, body, append([]string{execution.CapabilityHeader, capability}, header...)...)
}

// on returns the path of a call about the held run.
func on(verb string) string { return "/relay/v1/runs/" + held + verb }

// call is an operation with its example body, about the held run or the held work.
type call struct{ id, method, path, body, held string }

func (f *fixture) calls(t *testing.T) []call {
	t.Helper()
	var out []call
	for _, op := range f.Operations() {
		out = append(out, called(t, op))
	}
	if len(out) != len(table()) {
		t.Fatalf("%d operations, %d rows", len(out), len(table()))
	}
	return out
}

func called(t *testing.T, op *huma.Operation) call {
	t.Helper()
	what := held
	if strings.HasPrefix(op.Path, "/relay/v1/work/") {
		what = heldWork
	}
	return call{op.OperationID, op.Method, strings.Replace(op.Path, "{id}", what, 1), httpapitest.Example(t, op), what}
}

// table is every operation with the status of its success.
func table() map[string]int {
	return map[string]int{
		"claim-run": 200, "renew-lease": 200, "fetch-run": 200, "fetch-inventory": 200, "fetch-project": 200,
		"save-run": 204, "append-log": 200, "append-events": 200, "save-host-summary": 204, "save-task-summary": 204,
		"save-host-facts": 204, "divide-run": 204, "propose-apply": 200,
		"renew-work": 200, "fetch-work-project": 200, "finish-work": 204,
	}
}
