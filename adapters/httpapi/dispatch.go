package httpapi

import (
	"net/http"
	"strings"
)

// dispatcher passes a request to its route and answers unknown paths and methods in the form of every other error.
type dispatcher struct{ mux *http.ServeMux }

func (d *dispatcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := d.mux.Handler(r); pattern != "" {
		d.mux.ServeHTTP(w, r)
		return
	}
	allow := d.allowed(r)
	p := plainProblem(http.StatusNotFound, "not_found", "there is nothing under this path")
	if len(allow) > 0 {
		w.Header().Set("Allow", strings.Join(allow, ", "))
		p = plainProblem(http.StatusMethodNotAllowed, "method_not_allowed", "this path does not take "+methodName(r.Method))
	}
	note(r.Context(), p, nil)
	p.write(w)
}

// allowed lists the methods that the path does take.
func (d *dispatcher) allowed(r *http.Request) []string {
	var out []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete} {
		probe := *r
		probe.Method = m
		if _, pattern := d.mux.Handler(&probe); pattern != "" {
			out = append(out, m)
		}
	}
	return out
}

// methodName echoes only the methods that exist.
func methodName(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return m
	}
	return "this method"
}
