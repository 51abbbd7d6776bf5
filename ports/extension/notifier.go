package extension

import (
	"context"
	"encoding/json"
	"time"
)

// EndedRun is the notification about a run.
type EndedRun struct {
	// Delivery identifies the call. A repeated call, after an error or a crash of the server, has the same value.
	Delivery  string
	ID        string
	Name      string
	Tool      string
	Status    string // succeeded, failed, canceled, interrupted or rejected
	Error     string // one sentence, empty for none; masked
	StartedAt time.Time
	EndedAt   time.Time
	// Record is the run in the API's form, with the values of its variables redacted.
	Record json.RawMessage
}

// Notifier is called once for each top-level run that reaches a terminal state, separately from the execution of runs
// and within the time of ctx. A failed call is repeated, up to three calls in all, then logged and dropped.
type Notifier interface {
	Notify(ctx context.Context, run EndedRun) error
}

// NotifierFunc adapts a function to Notifier.
type NotifierFunc func(ctx context.Context, run EndedRun) error

// Notify calls f.
func (f NotifierFunc) Notify(ctx context.Context, run EndedRun) error { return f(ctx, run) }

// NotificationKinds returns the kinds of notification targets, which are reserved names.
func NotificationKinds() []string {
	return []string{
		"webhook", "slack", "mattermost", "rocketchat", "discord", "teams", "ntfy", "pagerduty", "grafana", "twilio", "email",
	}
}

// Notifiers is the process-wide registry that RegisterNotifier fills.
var Notifiers = NewRegistry[Notifier]("notifier", NotificationKinds()...)

// RegisterNotifier adds a notifier under name. It panics as Registry.Register does.
func RegisterNotifier(name string, n Notifier) { Notifiers.Register(name, n) }
