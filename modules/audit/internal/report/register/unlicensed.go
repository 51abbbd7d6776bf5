package register

import (
	"context"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// Unlicensed is the licence of an install without one: it has no feature that needs one.
type Unlicensed struct{}

var _ audit.Licence = Unlicensed{}

// Require refuses every feature. The fault names the feature in its message, and its Detail has feature and tier, the
// tier that has the feature.
func (Unlicensed) Require(_ context.Context, feature string) error {
	const tier = "team"
	f := &fault.Error{Kind: fault.Unlicensed, Message: "the feature " + feature + " needs a licence of the tier " + tier}
	return f.With("feature", feature).With("tier", tier)
}
