package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// record holds the members of a run that the client reads, and the raw answer for --json.
type record struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Kind         string            `json:"kind"`
	Status       string            `json:"status"`
	DryRun       bool              `json:"dry_run"`
	Tool         string            `json:"tool"`
	ToolVersion  string            `json:"tool_version"`
	Playbook     string            `json:"playbook"`
	ExitCode     *int              `json:"exit_code"`
	Error        string            `json:"error"`
	Inventory    string            `json:"inventory"`
	Query        string            `json:"inventory_query"`
	InventoryID  string            `json:"inventory_id"`
	TemplateID   string            `json:"template_id"`
	ProjectID    string            `json:"project_id"`
	Commit       string            `json:"commit"`
	Limit        string            `json:"limit"`
	LimitHosts   []string          `json:"limit_hosts"`
	Tags         []string          `json:"tags"`
	SkipTags     []string          `json:"skip_tags"`
	Diff         bool              `json:"diff_mode"`
	Source       string            `json:"source"`
	SourceID     string            `json:"source_id"`
	RetryOf      string            `json:"retry_of"`
	RerunOf      string            `json:"rerun_of"`
	ParentID     string            `json:"parent_id"`
	StepName     string            `json:"step_name"`
	Attempt      int               `json:"attempt"`
	Outputs      map[string]any    `json:"outputs"`
	Queue        string            `json:"queue"`
	Worker       string            `json:"worker"`
	Change       string            `json:"change"`
	LogBytes     int64             `json:"log_bytes"`
	Canceling    bool              `json:"cancel_requested"`
	CreatedAt    time.Time         `json:"created_at"`
	QueuedAt     time.Time         `json:"queued_at"`
	StartedAt    time.Time         `json:"started_at"`
	EndedAt      time.Time         `json:"ended_at"`
	DurationMS   int64             `json:"duration_ms"`
	HostsTouched int               `json:"hosts_touched"`
	Hosts        map[string]int    `json:"hosts"`
	Labels       map[string]string `json:"labels"`
	Actor        struct {
		Name string `json:"name"`
	} `json:"actor"`
	HeldBy *struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"held_by"`
	Decision *struct {
		At time.Time `json:"at"`
		By struct {
			Name string `json:"name"`
		} `json:"by"`
		Verdict string `json:"verdict"`
		Reason  string `json:"reason"`
	} `json:"decision"`
	Canceled *struct {
		At time.Time `json:"at"`
		By struct {
			Name string `json:"name"`
		} `json:"by"`
	} `json:"canceled"`
	Risk      *runs.Risk `json:"risk"`
	Approvals struct {
		Given []struct {
			By struct {
				Name string `json:"name"`
			} `json:"by"`
			Reason string `json:"reason"`
		} `json:"given"`
		Hosts *struct {
			Count   int      `json:"count"`
			Names   []string `json:"names"`
			Unknown bool     `json:"unknown"`
		} `json:"hosts"`
	} `json:"approvals"`
	Digest  string `json:"approval_digest"`
	Preview *struct {
		RunID   string `json:"run_id"`
		Status  string `json:"status"`
		Stale   bool   `json:"stale"`
		Changes int    `json:"changes"`
	} `json:"preview"`
	Warnings []warning `json:"warnings"`
	Steps    []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
		RunID  string `json:"run_id"`
	} `json:"steps"`

	raw json.RawMessage
}

// warning is a warning of a run.
type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// warn prints the warnings of an answer on standard error, unless they are in the document that is printed.
func (r *record) warn(out printer) {
	if out.json && out.jq == nil && out.template == nil {
		return
	}
	for _, x := range r.Warnings {
		tellWarning(out, x.Message)
	}
}

func tellWarning(out printer, message string) {
	_, _ = fmt.Fprintf(out.err, "writ: warning: %s\n", oneLine(message, 400))
}

// UnmarshalJSON stores the whole answer, so that --json shows members that this client does not define.
func (r *record) UnmarshalJSON(b []byte) error {
	type plain record
	*r = record{}
	if err := json.Unmarshal(b, (*plain)(r)); err != nil {
		return err
	}
	r.raw = append(json.RawMessage(nil), b...)
	return nil
}

// MarshalJSON returns the answer unchanged.
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

func (r *record) held() bool { return r.Status == string(runs.PendingApproval) }

// state returns the status of the run as it is shown.
func (r *record) state() string { return r.shown(r.Status) }

// shown returns the status of the run or of one of its steps as it is shown.
func (r *record) shown(status string) string { return runs.Status(status).Shown(r.DryRun) }

// title returns the title of a run in one line.
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

// verdict returns the error that ends a command, which depends on the end of the run.
func (r *record) verdict() error {
	if r.Status == "succeeded" {
		return nil
	}
	return errSilent
}

// risk returns the risk of a run that is or was held, with its reasons.
func (r *record) risk() string {
	if r.HeldBy == nil || r.Risk == nil {
		return ""
	}
	return strings.TrimSuffix(string(r.Risk.Level)+": "+strings.Join(r.Risk.Reasons, "; "), ": ")
}

// reaches names the hosts that a held run would reach.
func (r *record) reaches() string {
	h := r.Approvals.Hosts
	switch {
	case h == nil:
		return ""
	case h.Count == 0 && h.Unknown:
		return "hosts that are not known before the run"
	}
	out := count(h.Count, "host")
	if len(h.Names) > 0 {
		out += ": " + strings.Join(h.Names, ", ")
	}
	if h.Unknown {
		out += ", and others that are not known before the run"
	}
	return out
}

// previewed says what the dry run of a held run has found.
func (r *record) previewed() string {
	p := r.Preview
	if p == nil {
		return ""
	}
	out := fmt.Sprintf("%s %s, %s would change", p.RunID, p.Status, count(p.Changes, "host"))
	if p.Stale {
		out += "; the run would execute something else now"
	}
	return out
}

// approvers names those who have approved the run, with their reasons.
func (r *record) approvers() string {
	var out []string
	for _, g := range r.Approvals.Given {
		out = append(out, strings.TrimSuffix(g.By.Name+": "+g.Reason, ": "))
	}
	return strings.Join(out, "; ")
}

// ending returns the line with the end of a run, or with its current state.
func (r *record) ending(s screen) string {
	state := r.state()
	text := s.paint(state, mark(state)+" ") + oneLine(r.ID, 80) + " " + s.paint(state, oneLine(state, 40))
	if r.DurationMS > 0 {
		text += " in " + seconds(r.DurationMS)
	}
	if r.HostsTouched > 0 {
		text += ", " + count(r.HostsTouched, "host")
	}
	if r.ExitCode != nil && *r.ExitCode != 0 && !strings.Contains(r.Error, "exit code") {
		text += fmt.Sprintf(", exit code %d", *r.ExitCode)
	}
	if r.Error != "" {
		text += ": " + oneLine(r.Error, 400)
	}
	return text
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

// event holds the members of a structured event that the client reads.
type event struct {
	Seq        int64           `json:"seq"`
	Type       string          `json:"type"`
	Play       string          `json:"play"`
	Task       string          `json:"task"`
	TaskID     string          `json:"task_id"`
	Host       string          `json:"host"`
	Changed    bool            `json:"changed"`
	Ignored    bool            `json:"ignored"`
	DurationMS int64           `json:"duration_ms"`
	Message    string          `json:"message"`
	Stderr     string          `json:"stderr"`
	Stats      json.RawMessage `json:"stats"`
	From       string          `json:"from"`
	To         string          `json:"to"`
}

// detail returns the message of a result, and the last line of standard error if the message does not contain it.
func (e *event) detail() string {
	errs := strings.TrimSpace(e.Stderr)
	last := strings.TrimSpace(errs[strings.LastIndexByte(errs, '\n')+1:])
	switch {
	case strings.TrimSpace(e.Message) == "":
		return firstOf(errs, "no message")
	case last != "" && !strings.Contains(e.Message, last):
		return strings.TrimSpace(e.Message) + ": " + last
	default:
		return e.Message
	}
}

// firstOf returns the first text that is not blank.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}
