package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/writ-automation/writ/ports/identity"
)

// maxAgent bounds the name of an agent that is recorded, in bytes.
const maxAgent = 128

// authenticate returns a function that identifies the caller of a request by a token.
func (r *Router) authenticate(req *http.Request, token string) func(context.Context) (identity.Principal, error) {
	agent := len(req.Header.Values(identity.AgentHeader)) > 0
	return func(ctx context.Context) (identity.Principal, error) {
		p, err := r.authn.Authenticate(ctx, token)
		if agent && len(p.Scopes) == 0 {
			p.Scopes = identity.Scopes{identity.ScopeRead}
		}
		return p, err
	}
}

// agentOf returns what the trail records as the program that made a request: its user agent, after the agent that it
// acts for.
func agentOf(req *http.Request) string {
	values := req.Header.Values(identity.AgentHeader)
	if len(values) == 0 {
		return req.UserAgent()
	}
	name := strings.Join(values, ", ")
	return strings.TrimSpace(name[:min(len(name), maxAgent)] + " (" + req.UserAgent() + ")")
}
