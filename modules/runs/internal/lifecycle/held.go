package lifecycle

import "github.com/writ-automation/writ/ports/runs"

// Decidable returns RunNotHeld for a run that is not held, and RunRefreshing for one that is not bound yet.
func Decidable(r *runs.Run) error {
	switch {
	case r.Status != runs.PendingApproval:
		return runs.WithReasons(runs.RunNotHeld.New("the run is %s, not held", r.Status), runs.StateReason(r))
	case r.Approvals.Awaiting():
		return runs.WithReasons(runs.RunRefreshing.New("the inventory of the run is being refreshed; try again soon"),
			runs.RefreshReason(r))
	}
	return nil
}
