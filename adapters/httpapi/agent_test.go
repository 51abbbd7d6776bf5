package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
)

// callerRoute answers with the scopes of the caller and the program that the trail would name.
func callerRoute(p *httpapi.Params) {
	p.Routes = append(p.Routes, httpapi.Routes{Name: "caller", Register: func(r *httpapi.Router) {
		r.Raw(httpapi.Route{
			Method: http.MethodGet, Path: "/caller", ID: "get-caller", Tag: "system", Summary: "s", Description: "d",
			Access: httpapi.Needs("run", "read"), Status: http.StatusOK, Example: "x", Errors: []int{http.StatusNotFound},
		}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			p, _ := identity.From(req.Context())
			_, _ = fmt.Fprint(w, p.Scopes, " ", actor.RequestOf(req.Context()).Agent)
		}))
	}})
}

// TestAgentsOnlyRead sends requests with and without the name of an agent.
func TestAgentsOnlyRead(t *testing.T) {
	t.Parallel()
	f := setup(t, callerRoute)
	const program = "writ/1"
	for want, header := range map[string][]string{
		"[] writ/1":                    nil,
		"[read] coder/2 (writ/1)":      {identity.AgentHeader, "coder/2"},
		"[read] (writ/1)":              {identity.AgentHeader, ""},
		"[read] " + longAgent(program): {identity.AgentHeader, strings.Repeat("x", 500)},
	} {
		got := f.call("GET", "/caller", "admin", "", append(header, "User-Agent", program)...)
		if got.status != http.StatusOK || string(got.body) != want {
			t.Errorf("%d %q, want %q", got.status, got.body, want)
		}
	}
}

func longAgent(program string) string { return strings.Repeat("x", 128) + " (" + program + ")" }
