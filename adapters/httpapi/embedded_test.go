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

// pageRoutes has a page that shows its caller, and a form that calls the operation in its query.
func pageRoutes(p *httpapi.Params) {
	route := httpapi.Route{
		Tag: "system", Access: httpapi.Public(), Status: 200, Produces: "text/html", Example: "<!doctype html>",
		Errors: []int{404}, Hidden: true, Summary: "A page",
	}
	p.Routes = append(p.Routes, httpapi.Routes{Name: "pages", Register: func(r *httpapi.Router) {
		page, form := route, route
		page.Method, page.Path, page.ID = http.MethodGet, "/page", "read-page"
		r.Raw(page, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			known, err := r.Enter(req, identity.Need{Kind: "run", Act: req.URL.Query().Get("act")})
			if err != nil {
				httpapi.WriteError(w, req, err)
				return
			}
			who, _ := identity.From(known.Context())
			as := actor.From(known.Context())
			_, _ = fmt.Fprintf(w, "%s %s", who.User.Role, as.Type)
		}))
		form.Method, form.Path, form.ID, form.Harmless = http.MethodPost, "/page", "post-page", true
		form.Consumes = "application/x-www-form-urlencoded"
		r.Raw(form, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			a := r.Call(req, httpapi.Call{Method: http.MethodPost, Path: req.URL.Query().Get("path"), Body: []byte(`{}`)})
			_, _ = fmt.Fprintf(w, "%d %v %s", a.Status, a.OK(), a.Body)
		}))
	}})
}

// TestEnterNamesTheCaller checks who gets into a page, as for operations of the API.
func TestEnterNamesTheCaller(t *testing.T) {
	t.Parallel()
	f := setup(t, pageRoutes)
	f.call("GET", "/page?act=read", "", "").problem(t, 401)
	f.call("GET", "/page?act=read", "nobody", "").problem(t, 401)
	f.call("GET", "/page?act=approve", "viewer", "").problem(t, 403)
	for _, role := range []string{"viewer", "operator", "admin"} {
		if a := f.call("GET", "/page?act=read", role, ""); a.status != 200 || string(a.body) != role+" user" {
			t.Errorf("%s: %d %s", role, a.status, a.body)
		}
	}
}

// TestCallIsAsAnyClient checks that an operation that a page calls authenticates, authorizes and validates.
func TestCallIsAsAnyClient(t *testing.T) {
	t.Parallel()
	f := setup(t, pageRoutes)
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct{ token, path, want string }{
		{"", "/v1/runs/" + knownRun + "/cancel", "401 false "},
		{"viewer", "/v1/runs/" + knownRun + "/cancel", "403 false "},
		{"operator", "/v1/runs/" + knownRun + "/cancel", "200 true "},
		{"operator", "/v1/nothing", "404 false "},
		{"operator", "/v1/runs/" + knownRun + "/hosts", "405 false "},
	} {
		a := f.call("POST", "/page?path="+c.path, c.token, "a=b", "Content-Type", form)
		if a.status != 200 || !strings.HasPrefix(string(a.body), c.want) {
			t.Errorf("%s as %q: %d %s, want %s", c.path, c.token, a.status, a.body, c.want)
		}
	}
}

// TestCallOfReadOnlyInstall checks that a page cannot change what the API would not.
func TestCallOfReadOnlyInstall(t *testing.T) {
	t.Parallel()
	f := setup(t, pageRoutes, func(p *httpapi.Params) { p.Config.ReadOnly = true })
	a := f.call("POST", "/page?path=/v1/runs/"+knownRun+"/cancel", "admin", "a=b",
		"Content-Type", "application/x-www-form-urlencoded")
	if a.status != 200 || !strings.HasPrefix(string(a.body), "403 false ") ||
		!strings.Contains(string(a.body), "read_only") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
