package relay

import (
	"context"
	"encoding/base64"
	"net/http"
	"reflect"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
)

// ClaimOutput returns a run, or nothing.
type ClaimOutput struct {
	Status int
	Head   string `header:"Audit-Head" doc:"The newest signed head of the audit trail, a note in base64; absent if there is none."`
	Body   *GrantBody
}

// GrantBody is an execution.RelayGrant.
type GrantBody struct {
	execution.RelayGrant
	Run *RunBody `json:"run,omitempty"`
}

// BeatInput requests the renewal of a lease.
type BeatInput struct {
	Capability
	Body execution.RelayBeatOf
}

// leasing declares the calls that claim a run and renew its lease. Their bodies are small, so a waiting claim occupies
// no slot for large bodies.
func (h *handlers) leasing(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/relay/v1/claim", ID: "claim-run", Tag: tag,
		Summary: "Lease the oldest pending run of some queues",
		Description: "Waits up to wait_seconds, at most 30, for a run; 204 if there is none. Without queues it uses the " +
			"default queue. A worker " +
			"with 0 executors is removed from the list. Both answers have Audit-Head. With cancels it leases no run: it " +
			"waits until a " +
			"cancellation of the worker's runs is requested that canceling does not name. cancel_requested lists them. " +
			"With work it leases the refresh of an inventory source that runs a program, instead of a run. " +
			"policies_etag is the ETag of GET /relay/v1/policies. " +
			"With requirements in the answer the worker installs those of the project; their archive has none. A run that " +
			"needs it fails at a worker without installs_requirements.",
		Access: httpapi.Worker(), Report: true, Status: http.StatusOK, Empty: true, Example: exampleGrant(),
		Request: exampleClaim(),
		Errors:  []int{http.StatusForbidden},
	}, h.claim)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/relay/v1/heartbeat", ID: "renew-lease", Tag: tag, Summary: "Renew a run's lease",
		Description: "Every 10 seconds for each run. The answer says whether a cancellation is requested.",
		Access:      httpapi.Worker(), Report: true, Status: http.StatusOK, Example: exampleBeat(),
		Request: execution.RelayBeatOf{RunID: exampleID},
		Errors:  []int{http.StatusConflict},
	}, h.beat)
}

// claim waits no longer than its client, since the context ends with the connection.
func (h *handlers) claim(ctx context.Context, in *httpapi.NewInput[execution.RelayClaim]) (*ClaimOutput, error) {
	g, head, err := h.Relay.Claim(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	out := &ClaimOutput{Status: http.StatusNoContent, Head: base64.StdEncoding.EncodeToString([]byte(head))}
	if g == nil {
		return out, nil
	}
	out.Status = http.StatusOK
	if out.Body, err = granted(g); err == nil && out.Body.Run != nil && h.Policies != nil {
		// The run is leased already. Without the tag, the worker asks for the policies.
		if _, tag, err := h.Policies.InForce(ctx); err == nil {
			out.Body.PoliciesETag = httpapi.Quoted(tag)
		}
	}
	return out, err
}

// granted reveals the secrets of a claim right before it is sent.
func granted(g *execution.Grant) (*GrantBody, error) {
	if len(g.CancelRequested) > 0 {
		return &GrantBody{RelayGrant: execution.RelayGrant{CancelRequested: g.CancelRequested}}, nil
	}
	if g.Work != nil {
		return &GrantBody{RelayGrant: execution.RelayGrant{
			Work: g.Work, Capability: g.Capability.Reveal(), LeaseSeconds: int(g.Lease / time.Second),
			Secrets: execution.NewRelayAccess(g.Access),
		}}, nil
	}
	secrets, err := execution.NewRelaySecrets(&g.Secrets)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(secrets, &execution.RelaySecrets{}) {
		secrets = nil
	}
	return &GrantBody{Run: &RunBody{RelayRun: g.Run}, RelayGrant: execution.RelayGrant{
		Capability: g.Capability.Reveal(), LeaseSeconds: int(g.Lease / time.Second), Secrets: secrets,
		Requirements: execution.NewRelayRequirements(g.Requirements),
	}}, nil
}

func (h *handlers) beat(ctx context.Context, in *BeatInput) (*httpapi.Output[execution.RelayBeat], error) {
	return held(Held{in.Body.RunID, in.Capability}, func(l execution.Leaseholder) (execution.RelayBeat, error) {
		return h.Relay.Beat(ctx, l)
	})
}
