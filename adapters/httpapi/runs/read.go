package runs

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
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

// ListOutput answers with a page of runs.
type ListOutput struct{ Body ListBody }

func rows(list []*runs.Run, now time.Time) []httpapi.RunsRunBody {
	out := make([]httpapi.RunsRunBody, 0, len(list))
	for _, r := range list {
		out = append(out, httpapi.RunRow(r, now))
	}
	return out
}

func (h *handlers) list(ctx context.Context, in *ListInput) (*ListOutput, error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	page, err := h.Reader.List(ctx, f)
	if err != nil {
		return nil, err
	}
	list := rows(page.Runs, h.Clock.Now())
	return &ListOutput{Body: ListBody{
		Runs: list, Count: len(list), Total: page.Total, TotalCapped: page.TotalCapped, HasMore: page.HasMore,
		NextOffset: f.Offset + len(list), NextCursor: page.NextCursor, Limit: f.Limit,
	}}, nil
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
	out := &GetOutput{Status: http.StatusOK, ETag: httpapi.ETag(run.Revision)}
	// The duration of a run that executes grows without a new revision.
	if still := run.Status.Terminal() || run.StartedAt.IsZero(); still && httpapi.Unchanged(in.NoneMatch, out.ETag) {
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

// ShardsOutput answers with shards.
type ShardsOutput struct{ Body ShardList }

// StepsOutput answers with steps.
type StepsOutput struct{ Body StepList }

// HostsOutput answers with hosts.
type HostsOutput struct{ Body HostList }

// TasksOutput answers with tasks.
type TasksOutput struct{ Body TaskList }

// children lists a run's children of one kind. A run of another kind has none.
func (h *handlers) children(ctx context.Context, id string, kind runs.Kind) ([]httpapi.RunsRunBody, error) {
	list, err := h.Reader.Children(ctx, id)
	if err != nil {
		return nil, err
	}
	of := make([]*runs.Run, 0, len(list))
	for _, r := range list {
		if r.Kind == kind {
			of = append(of, r)
		}
	}
	return rows(of, h.Clock.Now()), nil
}

func (h *handlers) shards(ctx context.Context, in *IDInput) (*ShardsOutput, error) {
	list, err := h.children(ctx, in.ID, runs.Shard)
	if err != nil {
		return nil, err
	}
	return &ShardsOutput{Body: ShardList{Shards: list, Count: len(list), Total: len(list)}}, nil
}

func (h *handlers) steps(ctx context.Context, in *IDInput) (*StepsOutput, error) {
	list, err := h.children(ctx, in.ID, runs.Step)
	if err != nil {
		return nil, err
	}
	return &StepsOutput{Body: StepList{Steps: list, Count: len(list), Total: len(list)}}, nil
}

func (h *handlers) hosts(ctx context.Context, in *IDInput) (*HostsOutput, error) {
	list, err := h.Reader.Hosts(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &HostsOutput{Body: hostList(list)}, nil
}

func (h *handlers) tasks(ctx context.Context, in *IDInput) (*TasksOutput, error) {
	list, err := h.Reader.Tasks(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &TasksOutput{Body: taskList(list)}, nil
}

// CompareInput names a run and its baseline.
type CompareInput struct {
	ID   string `path:"id"`
	With string `query:"with" required:"true" minLength:"1" doc:"The baseline's id, or prev for the run before of the same source."`
}

// CompareOutput answers with a comparison.
type CompareOutput struct{ Body CompareBody }

func (h *handlers) compare(ctx context.Context, in *CompareInput) (*CompareOutput, error) {
	c, err := h.Reader.Compare(ctx, in.ID, in.With)
	if err != nil {
		return nil, err
	}
	return &CompareOutput{Body: h.comparison(c)}, nil
}
