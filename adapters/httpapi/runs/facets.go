package runs

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// FacetsInput is a search.
type FacetsInput struct {
	Q string `query:"q" doc:"As in the list of runs."`
}

// FacetsBody are the numbers of runs of a search by status and by tool.
type FacetsBody struct {
	Facets FacetCounts `json:"facets"`
	Exact  bool        `json:"exact" doc:"No facet is in about."`
	About  []string    `json:"about" doc:"Facets that count only the newest of many runs."`
}

// FacetCounts are the numbers by value. Values without runs are absent.
type FacetCounts struct {
	Status map[string]int `json:"status"`
	Tool   map[string]int `json:"tool"`
}

func facetsBody(f *runs.Facets) FacetsBody {
	b := FacetsBody{About: []string{}, Facets: FacetCounts{Status: map[string]int{}, Tool: f.Tool}}
	for status, n := range f.Status {
		b.Facets.Status[string(status)] = n
	}
	for name, about := range map[string]bool{"status": f.StatusAbout, "tool": f.ToolAbout} {
		if about {
			b.About = append(b.About, name)
		}
	}
	if len(b.About) > 1 {
		b.About = []string{"status", "tool"}
	}
	b.Exact = len(b.About) == 0
	return b
}

func (h *handlers) facets(ctx context.Context, in *FacetsInput) (*httpapi.Output[FacetsBody], error) {
	var f runs.Filter
	err := httpapi.SearchRuns(&f, in.Q)
	if err == nil {
		err = h.named(ctx, &f)
	}
	if err != nil {
		return nil, err
	}
	return httpapi.Show(facetsBody)(h.Facets.Facets(ctx, f))
}

func (h *handlers) counting(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/runs/facets", ID: "count-facets", Tag: tag,
		Summary: "Count the runs of a search by status and tool",
		Description: "Of the runs that the caller may read. Each facet leaves out its own term: that of the status shows " +
			"how many runs another status would find. Without other terms than status and queue, and for readers of all runs, " +
			"the numbers by status come from counters. Others count the newest runs that an index finds, at most 10,000, and " +
			"are listed in about if there are more.",
		Access: read(), Status: http.StatusOK, Errors: []int{http.StatusServiceUnavailable},
		Example: FacetsBody{Facets: FacetCounts{Status: map[string]int{"failed": 3, "succeeded": 1200},
			Tool: map[string]int{"ansible": 1203}}, Exact: true, About: []string{}},
	}, h.facets)
}
