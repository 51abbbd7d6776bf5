package relayclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/relayclient"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/execution/executiontest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// plain calls workers as the suite does, without the prefix of the relay's.
type plain struct{ *relayclient.Client }

func (p plain) Claim(ctx context.Context, r runs.ClaimRequest) (*runs.Assignment, error) {
	a, err := p.Client.Claim(ctx, r)
	if a != nil {
		a.Lease.Worker = strings.TrimPrefix(a.Lease.Worker, execution.RelayPrefix)
	}
	return a, err
}

func TestControlPlane(t *testing.T) {
	t.Parallel()
	executiontest.Run(t, func(t *testing.T) executiontest.Fixture {
		w := newFixture(t, nil)
		return executiontest.Fixture{
			Plane:  plain{w.Client},
			Submit: func(_ *testing.T, kind runs.Kind, queue string) string { return w.fake.submit(kind, queue) },
			SubmitDry: func(_ *testing.T, queue string) string {
				return w.fake.submit(runs.Single, queue, func(r *execution.RelayRun) { r.DryRun = true })
			},
			Run: func(_ *testing.T, id string) *runs.Run {
				r := w.fake.see(id)
				out := r.run.Record()
				out.LogOmitted, out.Warnings = r.holes, r.warn
				if r.end != nil {
					out.LogBytes, out.LogSHA256, out.ExitCode, out.Outputs = r.end.LogBytes, r.end.LogSHA256, r.end.ExitCode,
						r.end.Outputs
					out.ToolVersion, out.AcceptedHostKeys = r.end.Version, r.end.HostKeys
				}
				return out
			},
			Log:    func(_ *testing.T, id string) []byte { return w.fake.see(id).log },
			Events: func(_ *testing.T, id string) []runs.Event { return w.fake.see(id).events },
			Expire: func(_ *testing.T, id string) { w.fake.expire(id) },
		}
	})
}

func (r *record) propose(w http.ResponseWriter, body []byte) {
	var p runs.Plan
	if json.Unmarshal(body, &p) != nil {
		refuse(w, http.StatusBadRequest, "invalid")
		return
	}
	id, err := r.plan.Propose(r.run.ID, r.run.DryRun, &p)
	var f *fault.Error
	switch {
	case !errors.As(err, &f):
		answer(w, execution.RelayPlanned{RunID: id})
	case f.Kind == fault.Invalid:
		refuse(w, http.StatusBadRequest, f.Reason(), f.Fields...)
	default:
		refuse(w, http.StatusConflict, f.Reason())
	}
}
