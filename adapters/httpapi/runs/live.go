package runs

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// LiveInput is the position from which the channel continues.
type LiveInput struct {
	Ticket string `query:"ticket" doc:"A ticket of live-ticket, instead of the Authorization header."`
	After  string `query:"after" maxLength:"64" doc:"The id of the last message seen."`
	LastID string `header:"Last-Event-ID" doc:"Sent by a browser when it reconnects; it is used before after."`
}

// LiveRun is what a list shows of a run that was made or changed.
type LiveRun struct {
	ID         string          `json:"id"`
	Name       string          `json:"name,omitempty"`
	Kind       runs.Kind       `json:"kind"`
	Status     runs.Status     `json:"status"`
	ParentID   string          `json:"parent_id,omitempty"`
	TemplateID string          `json:"template_id,omitempty"`
	Queue      string          `json:"queue"`
	Hosts      runs.HostCounts `json:"hosts,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	StartedAt  *time.Time      `json:"started_at,omitempty"`
	EndedAt    *time.Time      `json:"ended_at,omitempty"`
	Revision   int64           `json:"revision"`
}

// HeldCount is how many runs are held that the reader may read.
type HeldCount struct {
	Count int `json:"count"`
}

func liveRun(r *runs.Run) LiveRun {
	return LiveRun{ID: r.ID, Name: r.Name, Kind: r.Kind, Status: r.Status, ParentID: r.ParentID,
		TemplateID: r.Spec.TemplateID, Queue: r.Spec.Queue, Hosts: r.Hosts, CreatedAt: r.CreatedAt,
		StartedAt: httpapi.When(r.StartedAt), EndedAt: httpapi.When(r.EndedAt), Revision: r.Revision}
}

// liveText encodes a message, once for all readers.
func liveText(u runs.FeedUpdate) (string, error) {
	return u.Text.Get(func() (string, error) {
		switch {
		case u.Run != nil:
			return serverSentEvent("run", u.ID, liveRun(u.Run))
		case u.Held:
			return serverSentEvent("held", u.ID, HeldCount{u.Count})
		case u.Reset:
			return serverSentEvent("reset", u.ID, struct{}{})
		}
		return serverSentEvent("ready", u.ID, struct{}{})
	})
}

func (h *handlers) live(_ context.Context, in *LiveInput) (*httpapi.StreamOutput, error) {
	return &httpapi.StreamOutput{Body: func(hctx huma.Context) {
		h.serveEvents(hctx, func(ctx context.Context, t *eventWriter) error {
			return h.Feed.FollowAll(ctx, cmp.Or(in.LastID, in.After), func(u runs.FeedUpdate) error {
				text, err := liveText(u)
				if err != nil {
					return err
				}
				return t.text(text)
			})
		})
	}}, nil
}

func (h *handlers) mintLive(ctx context.Context, _ *struct{}) (*httpapi.Output[TicketBody], error) {
	return h.mint(ctx, &IDInput{ID: runs.FeedTicket})
}

func (h *handlers) living(r *httpapi.Router) {
	redeem := func(ctx context.Context, ticket, _ string) (account, token string, err error) {
		return h.redeem(ctx, ticket, runs.FeedTicket)
	}
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/live-ticket", ID: "mint-live-ticket", Tag: tag,
		Summary:     "Create a single-use ticket for the live channel",
		Description: "For clients that cannot send a header, such as EventSource. It is good once, for a short time.",
		Access:      read(), Harmless: true, Status: http.StatusOK,
		Example: TicketBody{Ticket: "<STREAM_TICKET>", ExpiresIn: 30}, Errors: []int{http.StatusServiceUnavailable},
	}, h.mintLive)
	example, err := serverSentEvent("run", "k3v9q2ma-17", liveRun(&runs.Run{ID: "run_01k0a8bq3vtx5zk9w2m4n6p8rs",
		Kind: runs.Single, Status: runs.Running, Spec: runs.Spec{Queue: "default"}, CreatedAt: httpapi.ExampleTime()}))
	if err != nil {
		example = ""
	}
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/live", ID: "follow-live", Tag: tag,
		Summary: "Follow which runs are made and change, over Server-Sent Events",
		Description: "Events: run (a run that the caller may read was made or changed, also one below a parent; at most " +
			"four a second for one run), held (`{count}`: another number of runs that the caller may read waits for an " +
			"approval than before), ready (first, without a position to continue from) and reset (messages are " +
			"missing: read again what you show; first, if the position is unknown or too old, such as after a restart of " +
			"the server). Each " +
			"has an id, from which the next connection continues as after or Last-Event-ID; a comment every 15 seconds. What " +
			"was read before ready may be older than ready.",
		Access: read().OrTicket(redeem), Status: http.StatusOK, Produces: "text/event-stream", Example: example,
		Errors: []int{http.StatusTooManyRequests},
	}, h.live)
}
