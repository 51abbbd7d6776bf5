package register

import (
	"context"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// Unlicensed is the licence of an install without a licence file: it has no licensed feature.
type Unlicensed struct{}

var _ audit.Licence = Unlicensed{}

// Require refuses every feature. The message of the fault names the feature, and its Detail has feature and tier, the
// tier that includes the feature.
func (Unlicensed) Require(_ context.Context, feature string) error {
	const tier = "team"
	f := &fault.Error{Kind: fault.Unlicensed, Message: "the feature " + feature + " needs a licence of the tier " + tier}
	return f.With("feature", feature).With("tier", tier)
}
