package notify

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/notify"
)

// NotificationBody is the notification of one target about one event of a run, sent or not.
type NotificationBody struct {
	ID        string     `json:"id"`
	Event     string     `json:"event" enum:"run.finished,run.held,drift.found"`
	Origin    string     `json:"origin" enum:"run,server,extension" doc:"Whether the run names the target, a flag of the server does, or it is a notifier of an extension."`
	Kind      string     `json:"kind" doc:"The kind of the target, or the name of an extension's notifier."`
	Target    string     `json:"target,omitempty" doc:"The address, masked after its host, or the recipients; a mask if there is only a key."`
	Status    string     `json:"status" enum:"pending,delivered,failed,skipped"`
	Reason    string     `json:"reason,omitempty" doc:"Why it failed or was skipped, or why the last try failed."`
	Attempts  int        `json:"attempts"`
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// NotificationList is notifications, oldest first.
type NotificationList struct {
	Notifications []NotificationBody `json:"notifications"`
	httpapi.Listed
}

func list(rows []NotificationBody, l httpapi.Listed) NotificationList {
	return NotificationList{rows, l}
}

// ListInput selects a window of the list.
type ListInput struct {
	ID string `path:"id" example:"run_01k0a8bq3vtx5zk9w2m4n6p8rs"`
	httpapi.Window
}

// New returns the routes of the notify context.
func New(reader notify.Reader) httpapi.Routes {
	return httpapi.Routes{Name: "notify", Register: func(r *httpapi.Router) {
		httpapi.HandleList(r, httpapi.Route{
			Method: http.MethodGet, Path: "/v1/runs/{id}/notifications", ID: "list-run-notifications", Tag: "notify",
			Summary: "List a run's notifications and their results",
			Description: "There is a row for each target and event; drift.found may happen several times. One that does not " +
				"hear of the event is skipped at once; the others are tried up to three times.",
			Access: httpapi.Needs("run", "read"), Status: http.StatusOK, Errors: []int{http.StatusNotFound},
		}, list, body, func(ctx context.Context, in *ListInput) ([]notify.Delivery, int, error) {
			return reader.List(ctx, in.ID, in.Page())
		}, examples()...)
	}}
}

func body(d notify.Delivery) NotificationBody {
	masked := d.Target.Masked()
	return NotificationBody{
		ID: d.ID, Event: string(d.Event), Origin: string(d.Origin), Kind: d.Kind,
		Target: cmp.Or(masked.URL, masked.To, masked.Key),
		Status: string(d.Status), Reason: d.Reason, Attempts: d.Attempts, CreatedAt: d.CreatedAt,
		EndedAt: httpapi.When(d.EndedAt),
	}
}

func examples() []NotificationBody {
	at := httpapi.ExampleTime().Add(42 * time.Second)
	ended := at.Add(time.Second)
	return []NotificationBody{
		{
			ID: "nty_01k0a8bq3vtx5zk9w2m4n6p8rs", Event: "run.finished", Origin: "run", Kind: "slack",
			Target: "https://hooks.slack.com/***", Status: "delivered", Attempts: 1, CreatedAt: at, EndedAt: &ended,
		},
		{
			ID: "nty_01k0a8bq3vtx5zk9w2m4n6p8rt", Event: "run.finished", Origin: "server", Kind: "pagerduty", Target: "***",
			Status: "skipped", Reason: "this kind hears of failed and interrupted runs alone", CreatedAt: at, EndedAt: &at,
		},
	}
}
