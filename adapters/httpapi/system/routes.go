package system

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/system"
)

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

func list(rows []DeadLetterBody, l httpapi.Listed) DeadLetterList { return DeadLetterList{rows, l} }

// ListInput selects a window of the list.
type ListInput struct{ httpapi.Window }

// New returns the routes of the system context. The revision of a dead letter is its number of attempts.
func New(letters system.DeadLetters, extensions system.Extensions) httpapi.Routes {
	return httpapi.Routes{Name: "system", Register: func(r *httpapi.Router) {
		listExtensions(r, extensions)
		k := httpapi.Kind[system.DeadLetter, DeadLetterBody]{
			Path: "/v1/dead-letters", Noun: "dead-letter", Tag: "system", Read: httpapi.Needs("dead_letter", "read"),
			Write: httpapi.Needs("dead_letter", "delete"), Example: exampleLetter(), Body: deadLetterBody,
			Record: func(l system.DeadLetter) object.Record { return object.Record{ID: l.ID, Revision: int64(l.Attempts)} },
		}
		httpapi.HandleList(r, k.List("List dead letters",
			"An event is tried four times for each subscriber. The one that failed last comes first."),
			list, deadLetterBody, func(ctx context.Context, in *ListInput) ([]system.DeadLetter, int, error) {
				return letters.ListDeadLetters(ctx, in.Page())
			}, k.Example)
		retry := k.Act("retry", audit.DeadLetterRetry, "Retry a dead letter",
			"No other subscriber hears of it. The dead letter stays in the list until the subscriber has handled the "+
				"event; where it fails again, the attempts are counted together.")
		retry.Access, retry.Errors = httpapi.Needs("dead_letter", "retry"), []int{http.StatusNotFound}
		httpapi.Handle(r, retry, k.Getter(letters.RetryDeadLetter))
		httpapi.Handle(r, k.Delete(audit.DeadLetterDelete, "Delete a dead letter", "The subscriber never gets the event."),
			httpapi.Deleter(letters.DeleteDeadLetter))
	}}
}

func exampleLetter() DeadLetterBody {
	at := httpapi.ExampleTime()
	return DeadLetterBody{
		ID: "dlt_01k0a8bq3vtx5zk9w2m4n6p8rs", Event: "runs.run_finished", Subscriber: "notify", Attempts: 4,
		Error: "plan notifications: the database does not answer", FirstAt: at, LastAt: at.Add(2 * time.Second),
	}
}
