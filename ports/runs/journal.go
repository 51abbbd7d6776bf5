package runs

import (
	"encoding/json"
	"time"
)

// EventType is the type of a structured event.
type EventType string

// The event types.
const (
	EventStatus          EventType = "status"
	EventPlayStarted     EventType = "play_started"
	EventTaskStarted     EventType = "task_started"
	EventHostOK          EventType = "host_ok"
	EventHostFailed      EventType = "host_failed"
	EventHostUnreachable EventType = "host_unreachable"
	EventHostSkipped     EventType = "host_skipped"
	EventHostRetry       EventType = "host_retry"
	EventItemOK          EventType = "item_ok"
	EventItemFailed      EventType = "item_failed"
	EventItemSkipped     EventType = "item_skipped"
	EventFacts           EventType = "facts"
	EventOutputs         EventType = "outputs"
	EventStats           EventType = "stats"
	EventWarning         EventType = "warning"
)

// Event is one structured event of a run. Seq starts at 1 and has no gaps. Empty members are absent. The JSON form is
// stored and served.
//
// Action, Path, Role, Handler and CheckMode are of a task that begins: its module, its file and line in the project,
// its role, whether it is a handler, and whether it only tells what it would change. Resource is what a changed result
// or item of a dry run is about: the module and a path or a name. Notified are the handlers that a result notified
// first.
type Event struct {
	Seq        int64           `json:"seq"`
	At         time.Time       `json:"at"`
	Type       EventType       `json:"type"`
	Play       string          `json:"play,omitempty"`
	Task       string          `json:"task,omitempty"`
	TaskID     string          `json:"task_id,omitempty"`
	Host       string          `json:"host,omitempty"`
	Item       string          `json:"item,omitempty"`
	Changed    bool            `json:"changed,omitempty"`
	Ignored    bool            `json:"ignored,omitempty"`
	DurationMS int64           `json:"duration_ms,omitempty"`
	Message    string          `json:"message,omitempty"`
	Stdout     string          `json:"stdout,omitempty"`
	Stderr     string          `json:"stderr,omitempty"`
	RC         *int            `json:"rc,omitempty"`
	Diff       json.RawMessage `json:"diff,omitempty"`
	Stats      json.RawMessage `json:"stats,omitempty"`
	Facts      json.RawMessage `json:"facts,omitempty"`
	Outputs    json.RawMessage `json:"outputs,omitempty"`
	From       Status          `json:"from,omitempty"`
	To         Status          `json:"to,omitempty"`
	Truncated  bool            `json:"truncated,omitempty"`
	Action     string          `json:"action,omitempty"`
	Path       string          `json:"path,omitempty"`
	Role       string          `json:"role,omitempty"`
	Handler    bool            `json:"handler,omitempty"`
	CheckMode  bool            `json:"check_mode,omitempty"`
	Resource   string          `json:"resource,omitempty"`
	Notified   []string        `json:"notified,omitempty"`
}

// StatusEvent returns the event of a transition of r at a time. r is the record after it, which counts the event.
func StatusEvent(r *Run, from Status, at time.Time) Event {
	return Event{Seq: r.EventCount, At: at.UTC().Truncate(time.Microsecond), Type: EventStatus, From: from, To: r.Status}
}

// Texts returns the places of the event's texts, apart from those inside of its documents.
func (e *Event) Texts() []*string {
	out := []*string{&e.Play, &e.Task, &e.TaskID, &e.Host, &e.Item, &e.Message, &e.Stdout, &e.Stderr, &e.Action, &e.Path,
		&e.Role, &e.Resource}
	for i := range e.Notified {
		out = append(out, &e.Notified[i])
	}
	return out
}

// MaxNotified bounds the handlers that an event names.
const MaxNotified = 64

// HostStats is one host's line of the tool's recap: the members of an EventStats's Stats object, by host.
type HostStats struct {
	OK          int `json:"ok"`
	Changed     int `json:"changed"`
	Failed      int `json:"failed"`
	Unreachable int `json:"unreachable"`
	Skipped     int `json:"skipped"`
	Rescued     int `json:"rescued"`
	Ignored     int `json:"ignored"`
}

// LogChunk is a part of a run's output with its offset in the whole output.
type LogChunk struct {
	Offset int64
	Data   []byte
}
