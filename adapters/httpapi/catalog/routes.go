package catalog

import (
	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
)

type handlers struct {
	Params
	answers httpapi.RunAnswers
}

// New returns the routes of the catalog context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "catalog", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p, answers: httpapi.RunAnswers{Trail: p.Trail, Clock: p.Clock}}
		h.projects(r)
		h.inventories(r)
		h.sources(r)
		h.templates(r)
	}}
}

const tag = "catalog"

// largeBody limits the request bodies of templates and inventories.
const largeBody = 8 << 20

// The rights that the routes require. The ports check the rights to individual objects.
func read() httpapi.Access  { return httpapi.Needs("catalog", "read") }
func write() httpapi.Access { return httpapi.Needs("catalog", "write") }

// ListInput is the request for a filtered list.
type ListInput struct {
	httpapi.Window
	Name string `query:"name" doc:"Only the object with exactly this name."`
	Org  string `query:"org_id" doc:"Only objects of this organization."`
}

func (in *ListInput) filter() catalog.Filter { return catalog.Filter{Name: in.Name, Org: in.Org} }
