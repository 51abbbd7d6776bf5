package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a page of events.
const (
	defaultEvents = 500
	maxEvents     = 5000
)

// EventsInput selects a range of events.
type EventsInput struct {
	ID       string         `path:"id"`
	After    httpapi.Count  `query:"after" doc:"The sequence number before the first event of the answer."`
	Limit    httpapi.Count  `query:"limit" doc:"500 unless given, at most 5000. A download without it holds every event."`
	Download httpapi.Switch `query:"download" doc:"1 answers with newline-delimited JSON as an attachment. If it fails midway, it ends with a line of export_incomplete and reason."`
}

// EventsBody is a range of events.
type EventsBody struct {
	Events    []runs.Event `json:"events"`
	Count     int          `json:"count"`
	NextAfter int64        `json:"next_after"`
	End       bool         `json:"end" doc:"The run has ended and no event follows."`
	Limit     int          `json:"limit" doc:"The limit that was used."`
}

// events answers with a page or a download, which have different media types.
func (h *handlers) events(ctx context.Context, in *EventsInput) (*httpapi.StreamOutput, error) {
	limit := in.Limit.Clamp(defaultEvents, maxEvents)
	if in.Download.On() {
		limit = maxEvents
		if in.Limit.Set && in.Limit.N > 0 {
			limit = min(limit, in.Limit.Int())
		}
	}
	page, err := h.Reader.Events(ctx, in.ID, in.After.N, limit)
	if err != nil {
		return nil, err
	}
	if in.Download.On() {
		return &httpapi.StreamOutput{Body: h.export(in, page)}, nil
	}
	body := EventsBody{
		Events: append([]runs.Event{}, page.Events...), Count: len(page.Events), NextAfter: page.NextAfter, End: page.End,
		Limit: limit,
	}
	return &httpapi.StreamOutput{Body: func(hctx huma.Context) {
		sink := h.router.NewSink(hctx, http.StatusOK, func(hd http.Header) { hd.Set("Content-Type", "application/json") })
		defer sink.Done()
		if err := json.NewEncoder(sink).Encode(body); err != nil && !sink.Started() {
			sink.Fail(ctx, fmt.Errorf("encode events: %w", err), false)
		}
	}}, nil
}

// export writes all events from the first page on, page by page, until a page is not full.
func (h *handlers) export(in *EventsInput, page *runs.EventPage) func(huma.Context) {
	return func(hctx huma.Context) {
		ctx := hctx.Context()
		sink := h.router.NewSink(hctx, http.StatusOK, func(hd http.Header) {
			hd.Set("Content-Type", "application/x-ndjson")
			hd.Set("Content-Disposition", attachment(in.ID, "events.ndjson"))
		})
		defer sink.Done()
		sink.Start()
		if sink.Head() {
			return
		}
		if err := h.pages(ctx, in, page, sink); err != nil {
			sink.Fail(ctx, err, false)
		}
	}
}

func (h *handlers) pages(ctx context.Context, in *EventsInput, page *runs.EventPage, sink *httpapi.Sink) error {
	left := in.Limit.N
	enc := json.NewEncoder(sink)
	for {
		for i := range page.Events {
			if err := enc.Encode(&page.Events[i]); err != nil {
				return fmt.Errorf("write event: %w", err)
			}
		}
		left -= int64(len(page.Events))
		if len(page.Events) < maxEvents || in.Limit.Set && in.Limit.N > 0 && left <= 0 {
			return nil
		}
		limit := maxEvents
		if in.Limit.Set && in.Limit.N > 0 {
			limit = int(min(left, maxEvents))
		}
		var err error
		if page, err = h.Reader.Events(ctx, in.ID, page.NextAfter, limit); err != nil {
			return err
		}
	}
}

// attachment returns the header that names the file of a download. The id is that of an existing run, but it comes
// from the request.
func attachment(id, suffix string) string {
	safe := make([]byte, 0, len(id))
	for i := range len(id) {
		if c := id[i]; c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			safe = append(safe, c)
		}
	}
	return `attachment; filename="` + string(safe) + "-" + suffix + `"`
}
