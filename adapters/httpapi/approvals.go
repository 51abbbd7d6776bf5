package httpapi

import (
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

// RunsHeldByBody names the policy that holds a run. A hold that the request asked for has only a name.
type RunsHeldByBody struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
}

// RunsApprovalsBody is what holds a run and who has approved it.
type RunsApprovalsBody struct {
	Needed int                `json:"needed" doc:"How many accounts must approve: the most that one hold needs."`
	Given  []RunsApprovalBody `json:"given" doc:"In a record of its own, without those of what has changed since."`
	Holds  []RunsHoldBody     `json:"holds" doc:"Each must have what it needs."`

	Hosts *RunsReachBody `json:"hosts,omitempty" doc:"What a held run would reach now, in a record of its own."`

	Refreshing bool `json:"refreshing,omitempty" doc:"The sources of its inventory are being refreshed; nobody can decide before that has ended."`
}

// RunsReachBody has the hosts that a held run would reach.
type RunsReachBody struct {
	Count   int      `json:"count"`
	Names   []string `json:"names" maxItems:"1000" doc:"The first of them. Scripts reach none."`
	Unknown bool     `json:"unknown,omitempty" doc:"There may be others: without an inventory_id, or with a limit that only the tool can read."`
}

// maxReached is how many hosts of a held run are named.
const maxReached = 1000

// RunsHoldBody is one of the policies that hold a run, as it was when the run was submitted.
type RunsHoldBody struct {
	RunsHeldByBody
	Message  string   `json:"message,omitempty"`
	Needed   int      `json:"needed"`
	Given    int      `json:"given" doc:"How many of those who decide about this hold have approved."`
	Teams    []string `json:"approver_teams,omitempty" doc:"The teams whose members decide. Absent: administrators decide."`
	Distinct bool     `json:"distinct_approver,omitempty" doc:"Whoever asked for the run may not decide."`
}

// RunsApprovalBody is one account's consent.
type RunsApprovalBody struct {
	By     actor.Actor `json:"by"`
	At     time.Time   `json:"at"`
	Reason string      `json:"reason,omitempty"`
}

// hold sets the members that say what holds a run.
func (b *RunsRunBody) hold(r *runs.Run) {
	if r.Risk.Level != "" {
		b.Risk = &r.Risk
	}
	if r.Approvals == nil {
		return
	}
	a := &RunsApprovalsBody{Needed: r.Approvals.Needed(), Given: []RunsApprovalBody{},
		Refreshing: r.Status == runs.PendingApproval && r.Approvals.Awaiting()}
	for i, h := range r.Approvals.Holds {
		a.Holds = append(a.Holds, RunsHoldBody{RunsHeldByBody: RunsHeldByBody{ID: h.ID, Name: h.Name}, Message: h.Message,
			Needed: h.Needed, Given: r.Approvals.For(i), Teams: h.Teams, Distinct: h.Distinct})
	}
	for _, g := range r.Approvals.Given {
		a.Given = append(a.Given, RunsApprovalBody{By: g.By, At: g.At, Reason: g.Reason})
	}
	if x := r.Approvals.Reach; x != nil {
		a.Hosts = &RunsReachBody{Count: len(x.Hosts), Unknown: x.Unknown,
			Names: append([]string{}, x.Hosts[:min(len(x.Hosts), maxReached)]...)}
	}
	b.Approvals = a
	if c := r.Approvals.Current; c != nil {
		b.Digest, b.Changed = c.Digest(), r.Approvals.Parts.Changed(c)
	}
	if len(a.Holds) == 0 {
		b.Approvals = nil
	} else {
		b.HeldBy = &a.Holds[0].RunsHeldByBody
	}
}
