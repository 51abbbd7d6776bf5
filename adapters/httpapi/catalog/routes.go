package catalog

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// Params are the driving ports behind the routes.
type Params struct {
	Projects    catalog.Projects
	Inventories catalog.Inventories
	Sources     catalog.Sources
	Templates   catalog.Templates
	Launcher    catalog.Launcher
	Trail       audit.Trail // provides the audit_receipt of a launched run; nil leaves it out
	Clock       clock.Clock
}

type handlers struct {
	Params
	answers httpapi.RunAnswers
}

// New returns the routes of the catalog context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "catalog", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p, answers: httpapi.RunAnswers{Trail: p.Trail, Clock: p.Clock}}
		h.projects(r)
		h.browsing(r)
		h.inventories(r)
		h.hosts(r)
		h.sources(r)
		h.templates(r)
		h.launching(r)
	}}
}

const tag = "catalog"

// largeBody limits the request bodies of templates and inventories.
const largeBody = 8 << 20

// The rights that the routes require. The ports check the rights to individual objects.
func read() httpapi.Access  { return httpapi.Needs("catalog", "read") }
func write() httpapi.Access { return httpapi.Needs("catalog", "write") }

// compared returns the route that compares an object with its replacement.
func compared(path, noun string, example any, maxBody int64) httpapi.Route {
	return httpapi.Route{
		Method: http.MethodPost, Path: path + "/{id}/compare", ID: "compare-" + noun, Tag: tag, Harmless: true,
		Summary: "List the members with secrets that an update would change",
		Description: "It needs the right to change the object, and the whole body of an update. Values that read back masked are compared with the " +
			"stored ones, which the answer does not contain.",
		Access: write(), Status: http.StatusOK, Example: httpapi.DifferenceBody{Changed: []string{}}, Request: example,
		MaxBody: maxBody,
		Errors:  []int{http.StatusNotFound, http.StatusConflict},
	}
}

// ListInput is the request for a filtered list.
type ListInput struct {
	httpapi.Window
	Name string `query:"name" doc:"Only the object with exactly this name."`
	Org  string `query:"org_id" doc:"Only objects of this organization."`
}

func (in *ListInput) filter() catalog.Filter { return catalog.Filter{Name: in.Name, Org: in.Org} }

// listOutput returns a page of objects, in the list body that whole returns.
func listOutput[T, B, L any](
	ctx context.Context, in *ListInput, find func(context.Context, catalog.Filter, page.Window) ([]T, int, error),
	body func(T) B, whole func([]B, httpapi.Listed) L,
) (*httpapi.ListOutput[L], error) {
	list, total, err := find(ctx, in.filter(), in.Page())
	if err != nil {
		return nil, err
	}
	return &httpapi.ListOutput[L]{Body: whole(httpapi.List(list, total, in.Window, body))}, nil
}

// objectOutput returns the response with an object, or the error.
func objectOutput[T, B any](
	object T, err error, body func(T) B, record func(T) object.Record,
) (*httpapi.ObjectOutput[B], error) {
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[B]{ETag: httpapi.ETag(record(object).Revision), Body: body(object)}, nil
}

// newObjectOutput returns the response with a new object; its location is below the path of the list.
func newObjectOutput[T, B any](
	list string, object T, err error, body func(T) B, record func(T) object.Record,
) (*httpapi.NewObjectOutput[B], error) {
	if err != nil {
		return nil, err
	}
	rec := record(object)
	return &httpapi.NewObjectOutput[B]{Location: list + "/" + rec.ID, ETag: httpapi.ETag(rec.Revision),
		Body: body(object)}, nil
}

// updateStatuses refuses a PUT that changes read-only members.
func updateStatuses[T, B any](
	ctx context.Context, in *httpapi.ChangeInput[B], sent httpapi.Record, get func(context.Context, string) (T, error),
	record func(T) object.Record,
) error {
	return sent.Unchanged(in.ID, func() (httpapi.Record, error) {
		object, err := get(ctx, in.ID)
		return httpapi.RecordOf(record(object)), err
	})
}

// The statuses that several operations share.
func getStatuses() []int  { return []int{http.StatusNotFound} }
func listStatuses() []int { return []int{http.StatusServiceUnavailable} }
func createStatuses() []int {
	return []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable}
}
func refused() []int {
	return []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusServiceUnavailable}
}
