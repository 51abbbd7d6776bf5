package estate

import "time"

// DriftFound is the event that a dry run found drift that was not known. New counts its findings, and HostCount the
// hosts that have them.
type DriftFound struct {
	RunID     string    `json:"run_id"` // also of a shard or a step
	TargetID  string    `json:"target_id"`
	Playbook  string    `json:"playbook,omitempty"` // of the target
	New       int       `json:"new"`
	HostCount int       `json:"host_count"`
	Hosts     []string  `json:"hosts"` // at most 20
	At        time.Time `json:"at"`
}

func (DriftFound) EventName() string { return "estate.drift_found" }

func (DriftFound) EventVersion() int { return 1 }
