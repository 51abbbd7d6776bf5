package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/actor"
)

// RiskLevel grades what a run may do.
type RiskLevel string

// The levels in their order.
const (
	LowRisk      RiskLevel = "low"
	MediumRisk   RiskLevel = "medium"
	HighRisk     RiskLevel = "high"
	CriticalRisk RiskLevel = "critical"
)

// RiskLevels lists the levels in their order.
func RiskLevels() []RiskLevel { return []RiskLevel{LowRisk, MediumRisk, HighRisk, CriticalRisk} }

// AtLeast reports whether a level is another one or above it. The empty level is LowRisk.
func (l RiskLevel) AtLeast(other RiskLevel) bool { return l.rank() >= other.rank() }

func (l RiskLevel) rank() int { return max(0, slices.Index(RiskLevels(), l)) }

// Risk is what a run was graded as when it was submitted, by fixed rules. A held step has that of its pipeline. The
// zero value is LowRisk without reasons.
type Risk struct {
	Level RiskLevel `json:"level"`
	// Reasons say which rules raised or lowered the level.
	Reasons []string `json:"reasons,omitempty"`
}

// RequestedApproval is the name of the hold of a run that asks for approval itself.
const RequestedApproval = "require_approval"

// Hold is a policy that holds a run, as it was when the run was submitted. A hold that the request asked for has no ID.
type Hold struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
	// Needed is how many accounts must approve.
	Needed int `json:"needed"`
	// Teams are the ids of the teams whose members decide. Empty means administrators.
	Teams []string `json:"teams,omitempty"`
	// Distinct refuses the decision of the account that asked for the run.
	Distinct bool `json:"distinct,omitempty"`
}

// Approval is one account's consent to a held run.
type Approval struct {
	By     actor.Actor `json:"by"`
	At     time.Time   `json:"at"`
	Reason string      `json:"reason,omitempty"`
	// Holds are the indexes of the holds for which the account may decide.
	Holds []int `json:"holds"`
	// Digest is that of what the account has approved.
	Digest string `json:"digest"`
}

// The kinds of parts.
const (
	RequestPart    = "request"
	InventoryPart  = "inventory"
	HostsPart      = "hosts"
	CredentialPart = "credential"
	DriftPart      = "drift"
)

// Parts are what a run would execute, as values that change with it, by name: "request", "inventory <id>",
// "hosts <id> <limit>" and "credential <id>"; and "drift <target>", the findings that it would repair.
type Parts map[string]string

// Digest returns the SHA-256 of the parts, in hex.
func (p Parts) Digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(p[name]), p[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Changed returns the kinds of the parts that differ from others, sorted: "credential", "drift", "hosts", "inventory".
func (p Parts) Changed(others Parts) []string {
	var out []string
	for _, side := range []Parts{p, others} {
		for name := range side {
			if p[name] != others[name] {
				kind, _, _ := strings.Cut(name, " ")
				out = append(out, kind)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Repairs tells which findings a run was made to repair.
type Repairs interface {
	// Repairs returns the ids of those that are still there.
	Repairs(ctx context.Context, runID string) ([]string, error)
}

// Approvals are what holds a run, and who has approved it. A run goes on when each hold has what it needs.
type Approvals struct {
	Holds []Hold     `json:"holds,omitempty"`
	Given []Approval `json:"given,omitempty"`
	// Parts are what the run was bound to when it was held.
	Parts Parts `json:"parts,omitempty"`
	// Approved are what was approved, once that is complete. The run executes them or fails. A child that is not held
	// itself has no more than these.
	Approved Parts `json:"approved,omitempty"`
	// Refreshing is set while the sources of the run's inventories are refreshed. Nobody can decide until the run is
	// bound to what they say.
	Refreshing *Refreshing `json:"refreshing,omitempty"`
	// Preview is the newest dry run of the held run, nil if there is none.
	Preview *PreviewOf `json:"preview,omitempty"`
	// Current are the parts now, and Reach the hosts, for a held run that was read by itself.
	Current Parts  `json:"-"`
	Reach   *Reach `json:"-"`
}

// Reach has the hosts that a run would reach, sorted. With Unknown there may be others: a run without an inventory of
// the catalog, or with a limit that only the tool can read. A script reaches none.
type Reach struct {
	Hosts   []string
	Unknown bool
}

// Refreshing is a refresh of the inventories of a held run. A server that does it has moved Due into the future, and
// any server may repeat it after that.
type Refreshing struct {
	Since time.Time `json:"since"`
	Due   time.Time `json:"due"`
}

// Awaiting reports whether inventories are refreshed before the run can be decided about.
func (a *Approvals) Awaiting() bool { return a != nil && a.Refreshing != nil }

// See takes what the run would execute now. A run that was held without parts, as steps once were, is bound to these.
func (a *Approvals) See(current Parts) {
	if a.Current = current; a.Parts == nil {
		a.Parts = current
	}
}

// Approve makes what the run would execute now what was approved. What was approved of its pipeline before still binds
// it.
func (a *Approvals) Approve() {
	approved := maps.Clone(a.Current)
	for name, value := range a.Approved {
		if name != RequestPart {
			approved[name] = value
		}
	}
	a.Approved = approved
}

// Confirm returns ApprovalStale if a part was approved with another value. A run that was not held needs no approval.
func (a *Approvals) Confirm(kind, id, value string) error {
	if a == nil || a.Approved == nil {
		return nil
	}
	if approved, bound := a.Approved[kind+" "+id]; bound && approved == value {
		return nil
	}
	return ApprovalStale.New("the %s %s was changed after the run was approved", kind, id)
}

// Binding returns what a child of the run has to execute, nil if nothing was approved.
func (a *Approvals) Binding() *Approvals {
	if a == nil || a.Approved == nil {
		return nil
	}
	return &Approvals{Approved: a.Approved}
}

// Requester returns who asked for the run: the owner of the schedule or the trigger that did, else its actor.
func (r *Run) Requester() actor.Actor {
	if r.Origin.Owner != "" {
		return actor.Actor{Type: actor.User, ID: r.Origin.Owner}
	}
	return r.Actor
}

// HeldBy returns the first hold of a run that is or was held, nil for another one.
func (r *Run) HeldBy() *Hold {
	if r.Approvals == nil || len(r.Approvals.Holds) == 0 {
		return nil
	}
	return &r.Approvals.Holds[0]
}

// Needed returns how many accounts must approve, the most that one hold asks for.
func (a *Approvals) Needed() int {
	n := 0
	for _, h := range a.Holds {
		n = max(n, h.Needed)
	}
	return n
}

// Complete reports whether each hold has the approvals that it needs.
func (a *Approvals) Complete() bool {
	for i, h := range a.Holds {
		if a.For(i) < h.Needed {
			return false
		}
	}
	return true
}

// Of returns the approvals of what has a digest. Others are void.
func (a *Approvals) Of(digest string) (out []Approval) {
	for _, g := range a.Given {
		if g.Digest == digest {
			out = append(out, g)
		}
	}
	return out
}

// For returns how many approvals the hold of an index has.
func (a *Approvals) For(i int) int {
	n := 0
	for _, g := range a.Given {
		if slices.Contains(g.Holds, i) {
			n++
		}
	}
	return n
}
