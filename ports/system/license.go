package system

import (
	"context"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// Tier is what an install is licensed as. Each tier includes the one before it.
type Tier string

// The tiers. An install without a licence in force is Free.
const (
	Free Tier = "community"
	Pro  Tier = "pro"
	Team Tier = "team"
)

// Tiers lists the tiers in their order.
func Tiers() []Tier { return []Tier{Free, Pro, Team} }

// includes reports whether a tier is another one or above it.
func (t Tier) includes(other Tier) bool {
	return slices.Index(Tiers(), t) >= slices.Index(Tiers(), other)
}

// LicensedFeatures are the features that not every install has, with the lowest tier that includes each.
func LicensedFeatures() map[string]Tier {
	return map[string]Tier{
		"change_register": Team, "policies_up_to_five": Pro, "policies_unlimited": Team, "policy_deny": Team,
		"policy_risk": Team, "policy_actors": Team, "policy_distinct_approver": Team,
		"drift_reconcile": Team,
	}
}

// License is what a vendor has licensed to a customer until NotAfter. Features are those that it adds to the tier.
type License struct {
	ID       string
	Customer string
	Tier     Tier
	NotAfter time.Time
	Features []string
}

// Allows reports whether a licence that is in force includes a feature. The zero value includes none.
func (l License) Allows(feature string) bool {
	tier, known := LicensedFeatures()[feature]
	return known && l.Tier.includes(tier) || slices.Contains(l.Features, feature)
}

// LicenseState is the state of the licence of an install.
type LicenseState string

// The states of a licence.
const (
	LicenseNone  LicenseState = "none"
	LicenseValid LicenseState = "valid"
	LicenseEnded LicenseState = "ended"
)

// LicenseStatus is the licence of an install. Tier is the one in force. If Problem is not empty, it says why the
// present file is not used, and License is the last good one.
type LicenseStatus struct {
	State   LicenseState
	Tier    Tier
	License License
	Problem string
}

// Licenses checks what the install is licensed for.
type Licenses interface {
	// License returns the licence of the install.
	License(ctx context.Context) LicenseStatus
	// Require returns an Unlicensed fault that names the feature and its tier if the install lacks the feature.
	Require(ctx context.Context, feature string) error
}

// Unlicensed returns the fault of a feature that an install lacks. Its Detail has the feature and the tier.
func Unlicensed(feature string) error {
	tier := LicensedFeatures()[feature]
	f := &fault.Error{Kind: fault.Unlicensed,
		Message: "the feature " + feature + " needs a licence of the tier " + string(tier)}
	return f.With("feature", feature).With("tier", string(tier))
}

// LicenseSource is where the licence of an install comes from. Read returns the text of the licence file and is nil for
// an install without one.
type LicenseSource struct {
	Read func() ([]byte, error)
	Key  VendorKey
}
