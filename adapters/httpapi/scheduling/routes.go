package scheduling

import (
	"context"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/scheduling"
)

type handlers struct{ Params }

// New returns the routes of the scheduling context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "scheduling", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p}
		h.schedules(r)
		h.triggers(r)
		h.hooks(r)
	}}
}

const tag = "scheduling"

// The permissions that the routes of schedules and triggers need.
func readAccess() httpapi.Access  { return httpapi.Needs("catalog", "read") }
func writeAccess() httpapi.Access { return httpapi.Needs("catalog", "write") }

// ListInput selects a list.
type ListInput struct {
	httpapi.Window
	Name       string `query:"name" doc:"Only objects with exactly this name."`
	Org        string `query:"org_id" doc:"Only objects of this organization."`
	TemplateID string `query:"template_id" doc:"Only objects that launch this template."`
}

func (in *ListInput) filter() scheduling.Filter {
	return scheduling.Filter{Name: in.Name, Org: in.Org, TemplateID: in.TemplateID}
}

// attempts is how often a change of the stored state is tried if other changes come between.
const attempts = 3

// amend makes a change of the stored state: get reads it with its revision, and put stores the change for that
// revision. If the client named no revision, a conflict makes amend read the state again.
func amend[T any](
	ctx context.Context, revision int64, get func(context.Context) (T, int64, error),
	put func(ctx context.Context, stored T, revision int64) (T, error),
) (T, error) {
	for n := 1; ; n++ {
		stored, at, err := get(ctx)
		if err != nil {
			return stored, err
		}
		if revision != 0 {
			at = revision
		}
		out, err := put(ctx, stored, at)
		if revision != 0 || n == attempts || !scheduling.RevisionChanged.Is(err) {
			return out, err
		}
	}
}
