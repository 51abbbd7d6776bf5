package system

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/system"
)

const tag = "system"

// DeadLetterBody is an event that a subscriber did not handle.
type DeadLetterBody struct {
	ID         string    `json:"id"`
	Event      string    `json:"event" doc:"The name of the domain event."`
	Subscriber string    `json:"subscriber"`
	Attempts   int       `json:"attempts" doc:"The number of attempts, with retries."`
	Error      string    `json:"error" doc:"Of the last attempt."`
	FirstAt    time.Time `json:"first_at" doc:"When it failed first."`
	LastAt     time.Time `json:"last_at" doc:"When it failed last."`
}

func deadLetterBody(l system.DeadLetter) DeadLetterBody {
	return DeadLetterBody{
		ID: l.ID, Event: l.Message.Name, Subscriber: l.Subscriber, Attempts: l.Attempts, Error: l.Error,
		FirstAt: l.FirstAt, LastAt: l.LastAt,
	}
}

// DeadLetterList lists dead letters, the latest failure first.
type DeadLetterList struct {
	DeadLetters []DeadLetterBody `json:"dead_letters"`
	httpapi.Listed
}

// ListInput selects a window of the list.
type ListInput struct{ httpapi.Window }

// ListOutput is the answer with dead letters.
type ListOutput struct{ Body DeadLetterList }

// RetryInput selects a dead letter.
type RetryInput struct {
	ID string `path:"id"`
}

// RetryOutput is the answer with the retried letter.
type RetryOutput struct {
	ETag string `header:"ETag"`
	Body DeadLetterBody
}

// DeleteInput selects a dead letter and its expected number of attempts.
type DeleteInput struct {
	ID      string          `path:"id"`
	IfMatch httpapi.IfMatch `header:"If-Match"`
}

// New returns the routes of the system context.
func New(letters system.DeadLetters) httpapi.Routes {
	return httpapi.Routes{Name: "system", Register: func(r *httpapi.Router) {
		httpapi.Handle(r, httpapi.Route{
			Method: http.MethodGet, Path: "/v1/dead-letters", ID: "list-dead-letters", Tag: tag,
			Summary:     "List dead letters",
			Description: "An event is tried four times for each subscriber. The one that failed last comes first.",
			Access:      httpapi.Needs("dead_letter", "read"), Status: http.StatusOK, Example: exampleList(),
			Errors: []int{http.StatusServiceUnavailable},
		}, func(ctx context.Context, in *ListInput) (*ListOutput, error) {
			list, total, err := letters.ListDeadLetters(ctx, in.Page())
			if err != nil {
				return nil, err
			}
			rows, listed := httpapi.List(list, total, in.Window, deadLetterBody)
			return &ListOutput{Body: DeadLetterList{DeadLetters: rows, Listed: listed}}, nil
		})
		httpapi.Handle(r, httpapi.Route{
			Method: http.MethodPost, Path: "/v1/dead-letters/{id}/retry", ID: "retry-dead-letter", Action: audit.DeadLetterRetry,
			Tag: tag, Summary: "Retry a dead letter",
			Description: "No other subscriber gets it. The dead letter stays in the list until the subscriber has handled the " +
				"event; if it fails again, the attempts are added.",
			Access: httpapi.Needs("dead_letter", "retry"), Status: http.StatusOK, Example: exampleLetter(),
			Errors: []int{http.StatusNotFound},
		}, func(ctx context.Context, in *RetryInput) (*RetryOutput, error) {
			l, err := letters.RetryDeadLetter(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return &RetryOutput{ETag: httpapi.ETag(int64(l.Attempts)), Body: deadLetterBody(l)}, nil
		})
		httpapi.Handle(r, httpapi.Route{
			Method: http.MethodDelete, Path: "/v1/dead-letters/{id}", ID: "delete-dead-letter", Action: audit.DeadLetterDelete,
			Tag: tag, Summary: "Delete a dead letter", Description: "The subscriber never gets the event.",
			Access: httpapi.Needs("dead_letter", "delete"), Status: http.StatusNoContent,
			Errors: []int{http.StatusNotFound, http.StatusPreconditionFailed},
		}, func(ctx context.Context, in *DeleteInput) (*struct{}, error) {
			return nil, letters.DeleteDeadLetter(ctx, in.ID, in.IfMatch.Revision())
		})
	}}
}

func exampleLetter() DeadLetterBody {
	at := time.Date(2026, time.January, 5, 8, 30, 0, 0, time.UTC)
	return DeadLetterBody{
		ID: "dlt_01k0a8bq3vtx5zk9w2m4n6p8rs", Event: "runs.run_finished", Subscriber: "notify", Attempts: 4,
		Error: "plan notifications: the database does not answer", FirstAt: at, LastAt: at.Add(2 * time.Second),
	}
}

func exampleList() DeadLetterList {
	return DeadLetterList{
		DeadLetters: []DeadLetterBody{exampleLetter()}, Listed: httpapi.Listed{Count: 1, Total: 1, Limit: 1000},
	}
}
