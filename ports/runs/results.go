package runs

import "time"

// Outcome is the result on one host. Summaries compare outcomes by their order, the worst last.
type Outcome string

// The outcomes of a host, from harmless to worst.
const (
	HostSkipped Outcome = "skipped"
	HostOK      Outcome = "ok"
	HostChanged Outcome = "changed"
	// HostIgnored is a host with nothing but ignored failures. A host that was ok in some other task is HostOK or
	// HostChanged, since a failure that its playbook ignores says nothing about the host.
	HostIgnored     Outcome = "ignored"
	HostRescued     Outcome = "rescued"
	HostFailed      Outcome = "failed"
	HostUnreachable Outcome = "unreachable"
	// HostIncomplete is a host that had begun but not finished when the run was cut short.
	HostIncomplete Outcome = "incomplete"
)

// Outcomes returns every outcome in that order.
func Outcomes() []Outcome {
	return []Outcome{HostSkipped, HostOK, HostChanged, HostIgnored, HostRescued, HostFailed, HostUnreachable,
		HostIncomplete}
}

// HostSummary counts the results of one run on one host; the counts are those of the tool's recap.
type HostSummary struct {
	Host        string
	OK          int
	Changed     int
	Failed      int
	Unreachable int
	Skipped     int
	Rescued     int
	Ignored     int
	Worst       Outcome
	Duration    time.Duration // sum of the host's task times
}

// HostCounts counts hosts by their worst outcome.
type HostCounts map[Outcome]int

// TaskSummary sums up the results of one task of one run over its hosts.
type TaskSummary struct {
	Index    int // position in the run, from 0
	TaskID   string
	Play     string
	Task     string
	OK       int
	Changed  int
	Failed   int
	Skipped  int
	Hosts    int           // hosts with a result
	Duration time.Duration // from the task's start to its last result
	Mean     time.Duration // over the hosts
	Max      time.Duration
}
