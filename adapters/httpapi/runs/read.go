package runs

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// ListBody is a page of runs.
type ListBody struct {
	Runs        []httpapi.RunsRunBody `json:"runs"`
	Count       int                   `json:"count"`
	Total       int                   `json:"total"`
	TotalCapped bool                  `json:"total_capped,omitempty" doc:"The total is counted no further."`
	HasMore     bool                  `json:"has_more"`
	NextOffset  int                   `json:"next_offset"`
	NextCursor  string                `json:"next_cursor" doc:"Empty on the last page."`
	Limit       int                   `json:"limit" doc:"The limit that was used."`
}

func rows(list []*runs.Run, now time.Time) []httpapi.RunsRunBody {
	return httpapi.Rows(list, func(r *runs.Run) httpapi.RunsRunBody { return httpapi.RunRow(r, now) })
}

func (h *handlers) list(ctx context.Context, in *ListInput) (*httpapi.Output[httpapi.Encoded[ListBody]], error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	if err := h.named(ctx, &f); err != nil {
		return nil, err
	}
	found, err := h.Reader.List(ctx, f)
	if err != nil {
		return nil, err
	}
	list, err := h.texts.of(found.Runs, h.Clock.Now())
	if err != nil {
		return nil, err
	}
	body, err := httpapi.EncodedList(ListBody{
		Runs: []httpapi.RunsRunBody{}, Count: len(list), Total: found.Total, TotalCapped: found.TotalCapped,
		HasMore: found.HasMore, NextOffset: f.Offset + len(list), NextCursor: found.NextCursor, Limit: f.Limit,
	}, list)
	return &httpapi.Output[httpapi.Encoded[ListBody]]{Body: body}, err
}

// named adds the templates of that name which the caller may read to the id that the filter looks for.
func (h *handlers) named(ctx context.Context, f *runs.Filter) error {
	if h.Templates == nil || len(f.Templates) == 0 {
		return nil
	}
	list, _, err := h.Templates.List(ctx, catalog.Filter{Name: f.Templates[0]}, page.Window{})
	for i := range list {
		f.Templates = append(f.Templates, list[i].ID)
	}
	return err
}

// GetInput names a run and the version that the client has.
type GetInput struct {
	ID        string `path:"id"`
	NoneMatch string `header:"If-None-Match"`
}

// GetOutput answers with a run, or without a body if the client has it.
type GetOutput struct {
	Status int
	ETag   string `header:"ETag"`
	Body   *httpapi.RunsRunBody
}

func (h *handlers) get(ctx context.Context, in *GetInput) (*GetOutput, error) {
	run, err := h.Reader.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &GetOutput{Status: http.StatusOK, ETag: httpapi.RunTag(run)}
	// The duration of a run that executes grows without a new tag, and approvals are given without one.
	still := run.Status.Terminal() || run.StartedAt.IsZero()
	if still && run.Status != runs.PendingApproval && httpapi.Unchanged(in.NoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
		return out, nil
	}
	b := httpapi.RunRecord(run, h.Clock.Now())
	if b.AuditReceipt, err = h.answers.Receipt(ctx, run); err != nil {
		return nil, err
	}
	out.Body = &b
	return out, nil
}

// ShardList is the shard runs of a split.
type ShardList struct {
	Shards []httpapi.RunsRunBody `json:"shards"`
	Count  int                   `json:"count"`
	Total  int                   `json:"total"`
}

// StepList is the step runs of a pipeline that exist.
type StepList struct {
	Steps []httpapi.RunsRunBody `json:"steps"`
	Count int                   `json:"count"`
	Total int                   `json:"total"`
}

// children lists a run's children of one kind. A run of another kind has none.
func (h *handlers) children(ctx context.Context, id string, kind runs.Kind) ([]httpapi.RunsRunBody, error) {
	list, err := h.Reader.Children(ctx, id)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(r *runs.Run) bool { return r.Kind != kind })
	return rows(list, h.Clock.Now()), nil
}

func (h *handlers) shards(ctx context.Context, in *IDInput) (*httpapi.Output[ShardList], error) {
	return httpapi.Show(func(list []httpapi.RunsRunBody) ShardList { return ShardList{list, len(list), len(list)} })(
		h.children(ctx, in.ID, runs.Shard))
}

func (h *handlers) steps(ctx context.Context, in *IDInput) (*httpapi.Output[StepList], error) {
	return httpapi.Show(func(list []httpapi.RunsRunBody) StepList { return StepList{list, len(list), len(list)} })(
		h.children(ctx, in.ID, runs.Step))
}

func (h *handlers) hosts(ctx context.Context, in *IDInput) (*httpapi.Output[HostList], error) {
	return httpapi.Show(hostList)(h.Reader.Hosts(ctx, in.ID))
}

func (h *handlers) tasks(ctx context.Context, in *IDInput) (*httpapi.Output[TaskList], error) {
	return httpapi.Show(taskList)(h.Reader.Tasks(ctx, in.ID))
}

// CompareInput names a run and its baseline.
type CompareInput struct {
	ID   string `path:"id"`
	With string `query:"with" required:"true" minLength:"1" doc:"The baseline's id, or prev for the run before of the same source."`
}

func (h *handlers) compare(ctx context.Context, in *CompareInput) (*httpapi.Output[CompareBody], error) {
	return httpapi.Show(h.comparison)(h.Reader.Compare(ctx, in.ID, in.With))
}
