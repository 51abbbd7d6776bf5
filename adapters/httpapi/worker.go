package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/secret"
)

// relayName is the name of all workers that act over the relay. The lease of the run names the worker.
const relayName = "relay"

// worker returns a context in which a worker acts. Only a worker token is accepted as proof, also on an open install:
// cookies and the tokens of accounts are ignored. The receipts of entries that the call makes are not returned.
func (r *Router) worker(ctx context.Context, req *http.Request, st *request) (context.Context, error) {
	token, malformed := bearer(req.Header)
	if malformed != nil {
		token = ""
	}
	peer, err := r.peer(ctx, token)
	if err != nil {
		return nil, err
	}
	ctx, _ = audit.WithCollector(ctx)
	who := actor.Actor{Type: actor.Worker, Name: cmp.Or(peer.Name, relayName), IP: st.ip}
	return actor.With(execution.WithPeer(ctx, peer), who), nil
}

// peer returns the worker of a token: of the one that all workers share, or of one that is made for a worker.
func (r *Router) peer(ctx context.Context, token string) (execution.Peer, error) {
	shared := r.config.WorkerToken.Reveal()
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(shared))
	if shared != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
		return execution.Peer{}, nil
	}
	var peer execution.Peer
	var err error = execution.RelayDisabled.New("this install serves no workers over the relay; it takes a worker token")
	if r.workers != nil {
		peer, err = r.workers.Admit(ctx, secret.Text(token))
	}
	if shared != "" && execution.RelayDisabled.Is(err) {
		err = execution.BadWorkerToken.New("this is no worker token that is valid here")
	}
	return peer, err
}
