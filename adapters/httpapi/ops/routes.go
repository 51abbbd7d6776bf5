package ops

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
)

type handlers struct {
	Params
	router *httpapi.Router
	verify verifyPage
}

const tag = "system"

// New returns the routes. It returns an error if an embedded page does not parse.
func New(p Params) (httpapi.Routes, error) {
	verify, err := newVerifyPage()
	if err != nil {
		return httpapi.Routes{}, err
	}
	return httpapi.Routes{Name: "ops", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p, router: r, verify: verify}
		h.health(r)
		h.doctor(r)
		h.license(r)
		h.documents(r)
		h.html(r)
	}}, nil
}

// HealthBody is the state of the server.
type HealthBody struct {
	Status string `json:"status"`
}

func (h *handlers) health(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/healthz", ID: "check-liveness", Tag: tag,
		Summary:     "Report whether the process serves",
		Description: "It does not use the store, so that a failure of the store restarts no process.",
		Access:      httpapi.Public(), Status: http.StatusOK, Example: HealthBody{Status: "ok"},
		Errors: []int{http.StatusInternalServerError},
	}, func(context.Context, *struct{}) (*httpapi.Output[HealthBody], error) {
		return &httpapi.Output[HealthBody]{Body: HealthBody{Status: "ok"}}, nil
	})
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/readyz", ID: "check-readiness", Tag: tag,
		Summary:     "Report whether the database answers",
		Description: "Reads one row of the store within a second; 503 says that requests would fail now.",
		Access:      httpapi.Public(), Status: http.StatusOK, Example: HealthBody{Status: "ready"},
		Errors: []int{http.StatusServiceUnavailable},
	}, func(ctx context.Context, _ *struct{}) (*httpapi.Output[HealthBody], error) {
		if err := h.Health.Ready(ctx); err != nil {
			return nil, err
		}
		return &httpapi.Output[HealthBody]{Body: HealthBody{Status: "ready"}}, nil
	})
	access := httpapi.Public()
	if r.Config().MetricsAuth {
		access = httpapi.Needs("system", "read")
	}
	r.Raw(httpapi.Route{
		Method: http.MethodGet, Path: "/metrics", ID: "read-metrics", Tag: tag, Summary: "Read the metrics as text",
		Description: "In the text format of Prometheus. They hold counts and times, and no text that a user wrote.",
		Access:      access, Status: http.StatusOK, Produces: "text/plain", Example: "writ_runs{status=\"running\"} 3\n",
		Errors: []int{http.StatusInternalServerError},
	}, h.Metrics)
}

func (h *handlers) documents(r *httpapi.Router) {
	for _, d := range []struct {
		path, id, media string
		pick            func(json, yaml []byte) []byte
	}{
		{"/openapi.json", "read-openapi-json", "application/openapi+json", func(j, _ []byte) []byte { return j }},
		{"/openapi.yaml", "read-openapi-yaml", "application/openapi+yaml", func(_, y []byte) []byte { return y }},
	} {
		r.Raw(httpapi.Route{
			Method: http.MethodGet, Path: d.path, ID: d.id, Tag: tag, Summary: "Read the API document",
			Description: "OpenAPI 3.1, as JSON and as YAML. Its version is that of the product.",
			Access:      httpapi.Public(), Status: http.StatusOK, Produces: d.media, Example: "openapi: 3.1.0",
			Errors: []int{http.StatusInternalServerError},
		}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			json, yaml, err := r.Document()
			if err != nil {
				httpapi.WriteError(w, req, err)
				return
			}
			w.Header().Set("Content-Type", d.media)
			_, _ = w.Write(d.pick(json, yaml))
		}))
	}
}

// page declares a route that browsers ask for and the API document leaves out.
func page(r *httpapi.Router, path, id, summary string, f http.HandlerFunc) {
	r.Raw(httpapi.Route{
		Method: http.MethodGet, Path: path, ID: id, Tag: tag, Summary: summary, Access: httpapi.Public(),
		Status:   http.StatusOK,
		Produces: "text/html", Example: "<!doctype html>", Errors: []int{http.StatusInternalServerError}, Hidden: true,
	}, f)
}

func (h *handlers) html(r *httpapi.Router) {
	page(r, "/docs", "read-docs", "The API reference page", docs)
	page(r, "/docs/{asset}", "read-docs-asset", "The reference page's assets", asset)
	page(r, "/{$}", "open-root", "Leads to the UI", redirect)
	page(r, "/ui", "open-ui", "Leads to the UI", redirect)
	page(r, "/verify", "read-verify", "The page that verifies bundles and receipts", h.verify.serve)
	page(r, "/verify/engine.js", "read-verify-engine", "The code of the page that verifies, as a module", h.verify.module)
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/ui/", http.StatusFound)
}
