package runs

import "time"

// Started is the event that an executor began a run.
type Started struct {
	RunID  string    `json:"run_id"`
	Worker string    `json:"worker"`
	At     time.Time `json:"at"`
}

func (Started) EventName() string { return "runs.run_started" }

func (Started) EventVersion() int { return 1 }

// Held is the event that a top-level run, or a step of a pipeline, waits for approval.
type Held struct {
	RunID string    `json:"run_id"`
	At    time.Time `json:"at"`
	// By is the name of who asked for the run, and Policies are the names of what holds it.
	By       string   `json:"by,omitempty"`
	Policies []string `json:"policies,omitempty"`
}

// HeldBy returns the event of a held run.
func HeldBy(r *Run) Held {
	h := Held{RunID: r.ID, At: r.CreatedAt, By: r.Actor.Shown()}
	if r.Approvals != nil {
		for _, hold := range r.Approvals.Holds {
			h.Policies = append(h.Policies, hold.Name)
		}
	}
	return h
}

func (Held) EventName() string { return "runs.run_held" }

func (Held) EventVersion() int { return 1 }

// Finished is the event that a run reached a terminal state. Notifiers only get those with TopLevel.
type Finished struct {
	RunID      string    `json:"run_id"`
	Kind       Kind      `json:"kind"`
	Tool       string    `json:"tool"`
	Status     Status    `json:"status"`
	TopLevel   bool      `json:"top_level"`
	At         time.Time `json:"at"`
	DurationMS int64     `json:"duration_ms"`
	Touched    int       `json:"hosts_touched"`
	// NoTargets reports that the run names no notification targets. False may also mean that this is unknown.
	NoTargets bool `json:"no_targets,omitempty"`
	// By is the name of who asked for the run, Worker that of its last executor, and Hosts counts its hosts by outcome.
	By     string     `json:"by,omitempty"`
	Worker string     `json:"worker,omitempty"`
	Hosts  HostCounts `json:"hosts,omitempty"`
}

func (Finished) EventName() string { return "runs.run_finished" }

func (Finished) EventVersion() int { return 1 }

// Reported is the event that a run without children ended for which results of hosts are stored, or whose tool may have
// plans.
type Reported struct {
	RunID string `json:"run_id"`
}

func (Reported) EventName() string { return "runs.run_reported" }

func (Reported) EventVersion() int { return 1 }
