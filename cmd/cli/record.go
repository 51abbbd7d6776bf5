package cli

import (
	"encoding/json"
	"fmt"
	"time"
)

// record is what the client reads of a run, beside the raw answer for --json.
type record struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Kind         string         `json:"kind"`
	Status       string         `json:"status"`
	Tool         string         `json:"tool"`
	Playbook     string         `json:"playbook"`
	ExitCode     *int           `json:"exit_code"`
	Error        string         `json:"error"`
	CreatedAt    time.Time      `json:"created_at"`
	DurationMS   int64          `json:"duration_ms"`
	HostsTouched int            `json:"hosts_touched"`
	Hosts        map[string]int `json:"hosts"`
	HeldBy       *struct {
		Name string `json:"name"`
	} `json:"held_by"`
	Warnings []struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"warnings"`
	Steps []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
		RunID  string `json:"run_id"`
	} `json:"steps"`

	raw json.RawMessage
}

// UnmarshalJSON keeps the whole answer, so that --json shows members that this client does not know.
func (r *record) UnmarshalJSON(b []byte) error {
	type plain record
	if err := json.Unmarshal(b, (*plain)(r)); err != nil {
		return err
	}
	r.raw = append(json.RawMessage(nil), b...)
	return nil
}

// MarshalJSON gives the answer back as it came.
func (r record) MarshalJSON() ([]byte, error) {
	if r.raw == nil {
		return []byte("{}"), nil
	}
	return r.raw, nil
}

func (r *record) ended() bool {
	switch r.Status {
	case "succeeded", "failed", "canceled", "interrupted", "rejected":
		return true
	}
	return false
}

// title is how a run is called in one line.
func (r *record) title() string {
	switch {
	case r.Name != "":
		return r.Name
	case r.Playbook != "":
		return r.Playbook
	case r.Kind == "pipeline":
		return "pipeline"
	default:
		return r.Tool
	}
}

// verdict ends a command by how a run ended.
func (r *record) verdict() error {
	if r.Status == "succeeded" {
		return nil
	}
	return errSilent
}

func seconds(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// event is what the client reads of a structured event.
type event struct {
	Seq        int64  `json:"seq"`
	Type       string `json:"type"`
	Play       string `json:"play"`
	Task       string `json:"task"`
	TaskID     string `json:"task_id"`
	Host       string `json:"host"`
	Changed    bool   `json:"changed"`
	Ignored    bool   `json:"ignored"`
	DurationMS int64  `json:"duration_ms"`
	Message    string `json:"message"`
	Stderr     string `json:"stderr"`
	From       string `json:"from"`
	To         string `json:"to"`
}
