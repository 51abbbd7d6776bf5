package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
)

// relayName is the name of all workers that act over the relay. The lease of the run names the worker.
const relayName = "relay"

// worker returns a context in which a worker acts. Only the worker token is accepted as proof, also on an open install:
// cookies and the tokens of accounts are ignored. The receipts of entries that the call makes are not returned.
func (r *Router) worker(ctx context.Context, req *http.Request, st *request) (context.Context, error) {
	want := r.config.WorkerToken.Reveal()
	if want == "" {
		return nil, execution.RelayDisabled.New(
			"this install serves no workers over the relay; it needs a worker token for that")
	}
	token, err := bearer(req.Header)
	got, expected := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(want))
	if subtle.ConstantTimeCompare(got[:], expected[:]) != 1 || err != nil {
		return nil, execution.BadWorkerToken.New("this is not the install's worker token")
	}
	ctx, _ = audit.WithCollector(ctx)
	return actor.With(ctx, actor.Actor{Type: actor.Worker, Name: relayName, IP: st.ip}), nil
}
