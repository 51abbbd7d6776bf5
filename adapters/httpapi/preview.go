package httpapi

import "github.com/writ-automation/writ/ports/runs"

// RunsPreviewBody is what the dry run of a held run has found so far.
type RunsPreviewBody struct {
	RunID   string                `json:"run_id"`
	Digest  string                `json:"digest" doc:"The approval_digest of what it executes."`
	Stale   bool                  `json:"stale,omitempty" doc:"The held run would execute something else now."`
	Status  string                `json:"status,omitempty" doc:"That of the dry run. Absent if it was deleted."`
	Error   string                `json:"error,omitempty"`
	Hosts   map[string]int        `json:"hosts" doc:"Hosts by worst outcome."`
	Changes int                   `json:"changes" doc:"How many hosts would change."`
	Changed []string              `json:"changed_hosts" doc:"The first 100 of them."`
	Tasks   []RunsPreviewTaskBody `json:"changed_tasks" doc:"The tasks that would change hosts, the first 100."`
}

// RunsPreviewTaskBody is a task that would change hosts.
type RunsPreviewTaskBody struct {
	Play  string `json:"play,omitempty"`
	Task  string `json:"task"`
	Hosts int    `json:"hosts" doc:"How many hosts it would change."`
}

func previewOf(p *runs.Preview) *RunsPreviewBody {
	if p == nil {
		return nil
	}
	b := &RunsPreviewBody{RunID: p.RunID, Digest: p.Digest, Stale: p.Stale, Status: string(p.Status), Error: p.Error,
		Hosts: countsOf(p.Hosts), Changes: p.Changes, Changed: append([]string{}, p.ChangedHosts...)}
	b.Tasks = Rows(p.Tasks, func(t runs.PreviewedTask) RunsPreviewTaskBody { return RunsPreviewTaskBody(t) })
	return b
}

func countsOf(counts runs.HostCounts) map[string]int {
	out := make(map[string]int, len(counts))
	for outcome, n := range counts {
		out[string(outcome)] = n
	}
	return out
}
