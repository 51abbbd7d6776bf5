package compose

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/mcp"
)

// AgentCall is a request of an agent to an operation of the API.
type AgentCall = mcp.Call

// AgentAnswer is the API's answer to an AgentCall.
type AgentAnswer = mcp.Answer

// ServeAgent serves one agent over a pair of pipes, with the API that send reaches, until the agent closes its end or
// ctx is done.
func ServeAgent(
	ctx context.Context, version string, send func(context.Context, AgentCall) (AgentAnswer, error), in io.Reader,
	out io.Writer, log *slog.Logger,
) error {
	return mcp.Serve(ctx, mcp.Config{Version: version, API: send, Log: log}, in, out)
}

// agentAccess provides the routes for agents, of a server that has them.
func agentAccess(s *Settings) fx.Option {
	if !s.MCP {
		return fx.Options()
	}
	return fx.Module("agents", fx.Provide(fx.Annotate(agentRoutes, fx.ResultTags(httpapi.Group))))
}

// agentPath is where agents speak with a server.
const agentPath = "/mcp"

// agentRoutes makes the routes. A tool calls operations of the API in this process, with the credentials of the agent's
// request.
func agentRoutes(life fx.Lifecycle, s *Settings, log *slog.Logger) httpapi.Routes {
	return httpapi.Routes{Name: "agents", Register: func(r *httpapi.Router) {
		h := mcp.NewHandler(mcp.Config{Version: s.Info.Version, Log: log, API: inProcess(r)}, httpapi.Refuse)
		life.Append(fx.StopHook(h.Close))
		route := httpapi.Route{
			Method: http.MethodPost, Path: agentPath, ID: "post-agent-message", Tag: "system",
			Summary: "A message of an agent", Access: httpapi.Needs("account", "read"), Status: http.StatusOK,
			Harmless: true, Consumes: "application/json", MaxBody: mcp.MaxMessage, Example: "{}",
			Errors: []int{http.StatusNotFound, http.StatusTooManyRequests}, Hidden: true,
		}
		own := sameOrigin(r, h)
		r.Raw(route, own)
		route.Method, route.ID, route.Summary = http.MethodDelete, "delete-agent-session", "The end of an agent's session"
		route.Consumes, route.Status = "", http.StatusNoContent
		r.Raw(route, own)
	}}
}

// inProcess sends requests to the API of this process.
func inProcess(r *httpapi.Router) mcp.API {
	return func(ctx context.Context, c mcp.Call) (mcp.Answer, error) {
		a := r.Call(mcp.RequestOf(ctx).WithContext(ctx),
			httpapi.Call{Method: c.Method, Path: c.Path, Header: c.Header, Body: c.Body})
		return mcp.Answer{Status: a.Status, Header: a.Header, Body: a.Body}, ctx.Err()
	}
}

// sameOrigin refuses the pages of other sites. Agents are no pages and send neither header.
func sameOrigin(r *httpapi.Router, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Origin") != "" || req.Header.Get("Sec-Fetch-Site") != "" {
			if err := r.SameOrigin(req); err != nil {
				httpapi.WriteError(w, req, err)
				return
			}
		}
		next.ServeHTTP(w, req)
	})
}
