package execution

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
)

// QueueBody describes a queue.
type QueueBody struct {
	Name          string `json:"name"`
	MaxConcurrent int    `json:"max_concurrent" doc:"How many of its runs may execute at a time; 0 is any number."`
	Pending       int64  `json:"pending" doc:"Runs that wait. The parts of a split and of a pipeline do not count."`
	Running       int64  `json:"running" doc:"Runs that execute, counted as those that wait."`
	Workers       int    `json:"workers" doc:"Executors that take its runs and reported within the last 30 seconds."`
}

func queueBody(q execution.Queue) QueueBody {
	return QueueBody{Name: q.Name, MaxConcurrent: q.MaxConcurrent, Pending: q.Pending, Running: q.Running,
		Workers: q.Workers}
}

// QueueList lists queues by name.
type QueueList struct {
	Queues []QueueBody `json:"queues"`
	httpapi.Listed
}

func queueList(rows []QueueBody, l httpapi.Listed) QueueList { return QueueList{rows, l} }

// QueuesInput requests a page of the list.
type QueuesInput struct{ httpapi.Window }

// QueueInput names a queue.
type QueueInput struct {
	Name string `path:"name"`
}

// QueueLimitBody is a request for the limit of a queue.
type QueueLimitBody struct {
	MaxConcurrent int `json:"max_concurrent" minimum:"0" maximum:"10000" doc:"How many of its runs may execute at a time; 0 is any number."`
}

// QueueLimitInput names a queue, which nothing needs to name before, and its limit.
type QueueLimitInput struct {
	Name string `path:"name"`
	Body QueueLimitBody
}

func (h *handlers) queues(r *httpapi.Router) {
	const path, one = "/v1/queues", "/v1/queues/{name}"
	route := httpapi.Route{
		Method: http.MethodGet, Tag: tag, Access: httpapi.Needs("worker", "read"), Status: http.StatusOK,
		Example: exampleQueue(),
	}
	list, get, put := route, route, route
	list.Path, list.ID, list.Summary, list.Errors = path, "list-queues", "List queues by name",
		[]int{http.StatusServiceUnavailable}
	list.Description = "Those that the caller may read, among the default queue and those with a limit, a grant, runs " +
		"or executors."
	httpapi.HandleList(r, list, queueList, queueBody,
		func(ctx context.Context, in *QueuesInput) ([]execution.Queue, int, error) {
			return h.Queues.Queues(ctx, in.Page())
		}, exampleQueue())
	get.Path, get.ID, get.Summary, get.Errors = one, "get-queue", "Read one queue", []int{http.StatusNotFound}
	get.Description = "A queue that nothing names is not found, though runs may name it."
	httpapi.Handle(r, get, func(ctx context.Context, in *QueueInput) (*httpapi.Output[QueueBody], error) {
		return httpapi.Show(queueBody)(h.Queues.Queue(ctx, in.Name))
	})
	put.Method, put.Path, put.ID = http.MethodPut, one, "update-queue"
	put.Summary = "Limit how many runs of a queue execute"
	put.Description = "Runs beyond the limit wait. Those that execute go on when it becomes lower."
	put.Access, put.Action = httpapi.Needs("queue", "write"), audit.QueueUpdate
	put.Request, put.Errors = QueueLimitBody{MaxConcurrent: 4}, []int{http.StatusBadRequest}
	httpapi.Handle(r, put, func(ctx context.Context, in *QueueLimitInput) (*httpapi.Output[QueueBody], error) {
		return httpapi.Show(queueBody)(h.Queues.LimitQueue(ctx, in.Name, in.Body.MaxConcurrent))
	})
}

func exampleQueue() QueueBody {
	return QueueBody{Name: "dmz", MaxConcurrent: 4, Pending: 2, Running: 4, Workers: 1}
}
