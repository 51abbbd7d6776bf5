package relay

import (
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/ids"
)

// HeldWork names work that the caller holds. Inputs embed it.
type HeldWork struct {
	ID string `path:"id"`
	Capability
}

// WorkBeatInput requests the renewal of a lease.
type WorkBeatInput struct {
	HeldWork
	Body execution.RelayWorkBeat
}

// WorkResultInput carries a result.
type WorkResultInput struct {
	HeldWork
	Body execution.RelayWorkResult
}

const workPath = "/relay/v1/work/{id}"

func (h *handlers) working(r *httpapi.Router) {
	declareAt(r, workPath, http.MethodPost, "/heartbeat", httpapi.Route{
		ID: "renew-work", Summary: "Renew the lease of work", Example: exampleBeat(), Request: execution.RelayWorkBeat{},
		Description: "Every 10 seconds.",
	}, h.beatWork)
	declareAt(r, workPath, http.MethodGet, "/project", httpapi.Route{
		ID: "fetch-work-project", Summary: "Read the project of claimed work", Produces: "application/x-tar",
		Example:     "project/hosts.py",
		Description: "A tar archive of the work tree below project/, for a source with a path.",
	}, h.workProject)
	declareAt(r, workPath, http.MethodPost, "/result", httpapi.Route{
		ID: "finish-work", Summary: "Report the result of work", Status: http.StatusNoContent,
		MaxBody: execution.RelayResult,
		Request: execution.RelayWorkResult{Content: "W3dlYl0Kd2ViMQo=", Format: catalog.INI},
		Description: "The inventory in base64 with its format, or error, one sentence. With released the work was not " +
			"done, and another executor takes it.",
	}, h.finishWork)
}

func (w *HeldWork) holder() (execution.Leaseholder, error) { return w.holderOf(ids.Source, w.ID) }

func (h *handlers) beatWork(ctx context.Context, in *WorkBeatInput) (*httpapi.Output[execution.RelayBeat], error) {
	l, err := in.holder()
	if err != nil {
		return nil, err
	}
	out, err := h.Works.BeatWork(ctx, l)
	if err != nil {
		return nil, callerError(err)
	}
	return &httpapi.Output[execution.RelayBeat]{Body: out}, nil
}

func (h *handlers) finishWork(ctx context.Context, in *WorkResultInput) (*httpapi.NoOutput, error) {
	l, err := in.holder()
	if err == nil {
		err = callerError(h.Works.FinishWork(ctx, l, in.Body))
	}
	return &httpapi.NoOutput{}, err
}

func (h *handlers) workProject(_ context.Context, in *HeldWork) (*httpapi.StreamOutput, error) {
	l, err := in.holder()
	if err != nil {
		return nil, err
	}
	return &httpapi.StreamOutput{Body: func(hctx huma.Context) {
		h.archive(hctx, func(open func() (io.Writer, error)) error { return h.Works.WorkProject(hctx.Context(), l, open) })
	}}, nil
}
