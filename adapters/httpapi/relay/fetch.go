package relay

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
)

// RunBody is an execution.RelayRun.
type RunBody struct {
	execution.RelayRun
	// Notifications replaces the field of the run: a worker sends no notifications and receives no addresses.
	Notifications []string `json:"notifications,omitempty" hidden:"true"`
}

func (h *handlers) fetching(r *httpapi.Router) {
	declare(r, http.MethodGet, "", httpapi.Route{
		ID: "fetch-run", Summary: "Read the claimed run", Example: exampleRun(),
		Description: "The current record. Variables that look secret are redacted: the claim has the values that the " +
			"run needs.",
	}, h.run)
	declare(r, http.MethodGet, "/inventory", httpapi.Route{
		ID: "fetch-inventory", Summary: "Read the inventory of the claimed run", Example: exampleInventory(),
		Description: "Its content and format as they were when the run was claimed.",
	}, h.inventory)
	declare(r, http.MethodGet, "/project", httpapi.Route{
		ID: "fetch-project", Summary: "Read the project of the claimed run", Produces: "application/x-tar",
		Example: "project/site.yml",
		Description: "A tar archive: the work tree below project/, its installed requirements below roles/ and " +
			"collections/. If it cannot be " +
			"finished, the connection is cut. In HTTP/1.0 this looks like the end: there the archive lacks its final zeros.",
	}, h.project)
}

func (h *handlers) run(ctx context.Context, in *Held) (*httpapi.Output[RunBody], error) {
	return held(*in, func(l execution.Leaseholder) (RunBody, error) {
		run, err := h.Relay.Run(ctx, l)
		return RunBody{RelayRun: run}, err
	})
}

func (h *handlers) inventory(ctx context.Context, in *Held) (*httpapi.Output[execution.RelayInventory], error) {
	return held(*in, func(l execution.Leaseholder) (execution.RelayInventory, error) {
		return h.Materials.Inventory(ctx, l)
	})
}

func (h *handlers) project(_ context.Context, in *Held) (*httpapi.StreamOutput, error) {
	leaseholder, err := in.leaseholder(in.ID)
	if err != nil {
		return nil, err
	}
	return &httpapi.StreamOutput{Body: func(hctx huma.Context) {
		h.archive(hctx, func(open func() (io.Writer, error)) error {
			return h.Materials.Project(hctx.Context(), leaseholder, open)
		})
	}}, nil
}

// errHeaders stops the creation of an archive when the client requested only the headers.
var errHeaders = errors.New("the client requested only the headers")

// archive sends the archive while it is created. The response begins with the archive: an error before that is an
// error response, and a later error closes the connection.
func (h *handlers) archive(hctx huma.Context, write func(open func() (io.Writer, error)) error) {
	sink := h.router.NewSink(hctx, http.StatusOK, func(hd http.Header) {
		hd.Set("Content-Type", "application/x-tar")
		hd.Set("X-Accel-Buffering", "no")
	})
	defer sink.Done()
	err := write(func() (io.Writer, error) {
		sink.Start()
		if sink.Head() {
			return nil, errHeaders
		}
		return sink, nil
	})
	switch {
	case sink.Head() && sink.Started():
	case err != nil:
		sink.Fail(hctx.Context(), callerError(err), true)
	case !sink.Started():
		sink.Fail(hctx.Context(), errors.New("the project was made without an archive"), true)
	}
}
