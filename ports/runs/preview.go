package runs

// PreviewOf names the newest dry run of a held run, and the digest of what it executes.
type PreviewOf struct {
	RunID  string `json:"run_id"`
	Digest string `json:"digest"`
}

// MaxPreviewed bounds the hosts and the tasks that a preview names.
const MaxPreviewed = 100

// Preview is what the dry run of a held run has found so far.
type Preview struct {
	PreviewOf
	// Stale is set if the held run would execute something else now.
	Stale bool
	// Status is that of the dry run, empty if it was deleted. Error says why it failed.
	Status Status
	Error  string
	// Hosts counts the hosts by their worst outcome.
	Hosts HostCounts
	// Changes is how many hosts would change, and ChangedHosts names at most MaxPreviewed of them.
	Changes      int
	ChangedHosts []string
	// Tasks are those that would change hosts, at most MaxPreviewed.
	Tasks []PreviewedTask
}

// PreviewedTask is a task that would change a number of hosts.
type PreviewedTask struct {
	Play  string
	Task  string
	Hosts int
}
