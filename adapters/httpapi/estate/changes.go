package estate

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// ChangeSummary is what a change is, without its runs.
type ChangeSummary struct {
	Change  string    `json:"change"`
	Outcome string    `json:"outcome" enum:"failed,in_progress,partial,succeeded" doc:"Of the runs that no other run of the change repeats."`
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
	Actors  []string  `json:"actors" doc:"Who submitted, approved, rejected or canceled its runs, by name."`
	Hosts   int       `json:"hosts" doc:"How many hosts its runs touched."`
}

func changeSummary(c estate.Change) ChangeSummary {
	return ChangeSummary{Change: c.Change, Outcome: string(c.Outcome), FirstAt: c.FirstAt, LastAt: c.LastAt,
		Actors: append([]string{}, c.Actors...), Hosts: c.Hosts}
}

// ChangeRow is a change in a list.
type ChangeRow struct {
	ChangeSummary
	Runs int `json:"runs" doc:"How many runs of it were read."`
}

// ChangeList is a page of changes.
type ChangeList struct {
	Changes []ChangeRow `json:"changes"`
	httpapi.Listed
	Scanned int  `json:"scanned" doc:"How many runs were read."`
	Partial bool `json:"partial" doc:"Older runs were not read: changes all of whose runs are older are not listed."`
}

// ChangeBody is a change with a page of its runs.
type ChangeBody struct {
	ChangeSummary
	Touched []string              `json:"touched" doc:"The first 1000 hosts that its runs touched, by name."`
	Runs    []httpapi.RunsRunBody `json:"runs" doc:"As in the run list, the oldest first."`
	httpapi.Listed
	Withheld int  `json:"withheld" doc:"Runs of the change that the caller may not read. All else is about the others."`
	Partial  bool `json:"partial" doc:"The change has older runs than the 10000 newest, of which only runs has any."`
}

// ChangeListInput pages the changes.
type ChangeListInput struct{ httpapi.Window }

// ChangeInput names a change and pages its runs.
type ChangeInput struct {
	Change string `path:"change" example:"CHG-1042"`
	httpapi.Window
	page bool
}

func (in *ChangeInput) Resolve(ctx huma.Context) []error {
	r, _ := humago.Unwrap(ctx)
	in.page = httpapi.Accepts(r, "text/html") && !httpapi.Accepts(r, "application/json")
	return nil
}

func (h *handlers) changes(r *httpapi.Router) {
	read := httpapi.Needs("estate", "read")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/changes", ID: "list-changes", Tag: tag,
		Summary: "List changes, newest first",
		Description: "A change is all runs with one value of change. The list is made of the 10000 newest runs that name " +
			"one and that the caller may read. A run that hides its change, since that holds a secret, is in none.",
		Access: read, Status: http.StatusOK, Example: exampleChanges(), Errors: []int{http.StatusServiceUnavailable},
	}, h.listChanges)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/changes/{change}", ID: "get-change", Tag: tag,
		Summary: "Read one change with its runs",
		Description: "Accept: text/html answers a document for an auditor: one file that loads nothing, with the signed " +
			"receipts of the runs.",
		Access: read, Status: http.StatusOK, Example: exampleChange(), Errors: []int{http.StatusNotFound},
	}, h.change)
}

func (h *handlers) listChanges(ctx context.Context, in *ChangeListInput) (*httpapi.Output[ChangeList], error) {
	list, err := h.Changes.List(ctx, in.Page())
	if err != nil {
		return nil, err
	}
	return &httpapi.Output[ChangeList]{Body: ChangeList{
		Changes: httpapi.Rows(list.Changes, func(c estate.Change) ChangeRow { return ChangeRow{changeSummary(c), c.Runs} }),
		Listed:  httpapi.Listed{Count: len(list.Changes), Total: list.Total, Limit: in.Page().Limit},
		Scanned: list.Scanned, Partial: list.Partial,
	}}, nil
}

func (h *handlers) change(ctx context.Context, in *ChangeInput) (*httpapi.StreamOutput, error) {
	if in.page {
		doc, err := h.Reporter.Change(ctx, in.Change)
		if err != nil {
			return nil, err
		}
		return httpapi.Page(doc, "change.html"), nil
	}
	c, err := h.Changes.Get(ctx, in.Change, in.Page())
	if err != nil {
		return nil, err
	}
	now := h.Clock.Now()
	body, err := httpapi.Encode(ChangeBody{
		ChangeSummary: changeSummary(c.Change), Touched: append([]string{}, c.Touched...),
		Runs:   httpapi.Rows(c.Members, func(r *runs.Run) httpapi.RunsRunBody { return httpapi.RunRow(r, now) }),
		Listed: httpapi.Listed{Count: len(c.Members), Total: c.Runs, Limit: in.Page().Limit}, Withheld: c.Withheld,
		Partial: c.Partial,
	})
	return httpapi.Whole(append(body, '\n'), "Content-Type", "application/json"), err
}

func exampleSummary() ChangeSummary {
	return ChangeSummary{Change: "CHG-1042", Outcome: string(estate.ChangeSucceeded), FirstAt: httpapi.ExampleTime(),
		LastAt: httpapi.ExampleTime().Add(time.Hour), Actors: []string{"alex", "kim"}, Hosts: 12}
}

func exampleChanges() ChangeList {
	return ChangeList{Changes: []ChangeRow{{exampleSummary(), 2}}, Listed: httpapi.Listed{Count: 1, Total: 1, Limit: 1000},
		Scanned: 2}
}

func exampleChange() ChangeBody {
	run := httpapi.RunRow(&runs.Run{ID: "run_01k0a8bq3vtx5zk9w2m4n6p8rs", Name: "deploy", Kind: runs.Single,
		Status: runs.Succeeded, Change: "CHG-1042", Spec: runs.Spec{Tool: runs.Ansible, Playbook: "site.yml"},
		CreatedAt: httpapi.ExampleTime()}, httpapi.ExampleTime())
	return ChangeBody{ChangeSummary: exampleSummary(), Touched: []string{"web1"}, Runs: []httpapi.RunsRunBody{run},
		Listed: httpapi.Listed{Count: 1, Total: 1, Limit: 1000}, Withheld: 1}
}
