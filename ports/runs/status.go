package runs

// Status is a run's state.
type Status string

// The states.
const (
	PendingApproval Status = "pending_approval"
	Pending         Status = "pending"
	Running         Status = "running"
	Succeeded       Status = "succeeded"
	Failed          Status = "failed"
	Canceled        Status = "canceled"
	Interrupted     Status = "interrupted"
	Rejected        Status = "rejected"
)

// Skipped is the status of a pipeline step that started no run. No run has it.
const Skipped Status = "skipped"

// Statuses lists every state in the order in which a run can pass them.
func Statuses() []Status {
	return []Status{PendingApproval, Pending, Running, Succeeded, Failed, Canceled, Interrupted, Rejected}
}

// Valid reports whether s is a state of a run.
func (s Status) Valid() bool { return s.Terminal() || len(s.moves()) > 0 }

// Terminal reports whether a run in this state never changes again.
func (s Status) Terminal() bool {
	switch s {
	case Succeeded, Failed, Canceled, Interrupted, Rejected:
		return true
	}
	return false
}

// Shown returns the state as readers see it. A dry run that succeeded was checked, since it changed nothing.
func (s Status) Shown(dryRun bool) string {
	if dryRun && s == Succeeded {
		return "checked"
	}
	return string(s)
}

// CanMove reports whether the state table allows the transition.
func CanMove(from, to Status) bool {
	for _, t := range from.moves() {
		if t == to {
			return true
		}
	}
	return false
}

// moves is the state table. Parents derive their state from their children and may therefore go from pending directly
// to a terminal state, if every child ended before it started or no child was needed.
func (s Status) moves() []Status {
	switch s {
	case PendingApproval:
		return []Status{Pending, Rejected, Canceled}
	case Pending:
		return []Status{Running, Canceled, Succeeded, Failed, Interrupted}
	case Running:
		return []Status{Pending, Succeeded, Failed, Canceled, Interrupted}
	}
	return nil
}

// Roll derives a parent's terminal state from its children's: failed if any failed, else interrupted, else
// canceled, else succeeded. Rejected children count as canceled, skipped ones do not count.
func Roll(children []Status) Status {
	worst := Succeeded
	rank := map[Status]int{Succeeded: 0, Skipped: 0, Canceled: 1, Rejected: 1, Interrupted: 2, Failed: 3}
	for _, c := range children {
		if c == Rejected {
			c = Canceled
		}
		if rank[c] > rank[worst] {
			worst = c
		}
	}
	return worst
}
