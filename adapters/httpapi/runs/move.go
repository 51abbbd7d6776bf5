package runs

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
)

// MoveBody names the queue that a run moves to.
type MoveBody struct {
	Queue string `json:"queue" pattern:"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$" patternDescription:"the name of a queue"`
}

// MoveInput moves a pending run to a queue.
type MoveInput struct {
	ID      string          `path:"id"`
	IfMatch httpapi.IfMatch `header:"If-Match"`
	Body    MoveBody
}

func (h *handlers) move(ctx context.Context, in *MoveInput) (*httpapi.RunOutput, error) {
	run, err := h.Controller.SetQueue(ctx, in.ID, in.Body.Queue, in.IfMatch.Revision())
	return h.answers.Changed(ctx, run, err)
}

func (h *handlers) moving(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: "/v1/runs/{id}/queue", ID: "move-run", Tag: tag,
		Summary: "Move a pending run to another queue",
		Description: "It takes the right to use both queues and all else that the run names. Policies and windows decide " +
			"as for a new request. Who may read the run follows the new queue. Runs that are not pending, that were approved, " +
			"or that a policy would hold in the queue do not move, nor do pipelines, their steps, divided splits and their " +
			"shards. " +
			"If no executor serves the queue, the record has the warning queue_unserved.",
		Access: control(), Action: audit.RunQueue, Status: http.StatusOK, Example: exampleRun(),
		Request: MoveBody{Queue: "dmz"},
		Errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
	}, h.move)
}
