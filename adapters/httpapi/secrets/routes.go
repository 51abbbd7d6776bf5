package secrets

import (
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/secrets"
)

// Params are the driving ports behind the routes.
type Params struct {
	Credentials secrets.Credentials
	Types       secrets.Types
}

type handlers struct{ Params }

// New returns the routes of the secrets context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "secrets", Register: func(r *httpapi.Router) {
		h := &handlers{p}
		h.credentials(r)
		h.types(r)
	}}
}

const tag = "secrets"

// The statuses that several operations share.
func getStatuses() []int  { return []int{http.StatusNotFound} }
func listStatuses() []int { return []int{http.StatusServiceUnavailable} }
func createStatuses() []int {
	return []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable}
}
func updateStatuses() []int {
	return []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusServiceUnavailable}
}
