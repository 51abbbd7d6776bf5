package secrets

import "github.com/writ-automation/writ/adapters/httpapi"

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
