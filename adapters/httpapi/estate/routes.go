package estate

import "github.com/writ-automation/writ/adapters/httpapi"

const tag = "estate"

type handlers struct {
	Params
	answers httpapi.RunAnswers
}

// New returns the routes of the estate.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "estate", Register: func(r *httpapi.Router) {
		h := &handlers{p, httpapi.RunAnswers{Trail: p.Trail, Clock: p.Clock}}
		h.changes(r)
		h.inventory(r)
		h.facts(r)
		h.fleet(r)
		h.drift(r)
	}}
}
