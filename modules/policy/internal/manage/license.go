package manage

import (
	"context"

	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/system"
)

// Licenses decides what the licence includes.
type Licenses struct{ system.Licenses }

// features refuses a policy with something that the licence does not include.
func (l Licenses) features(ctx context.Context, p policy.Policy) error {
	for _, f := range []struct {
		name string
		used bool
	}{
		{policy.FeatureDeny, p.Effect == policy.Deny}, {policy.FeatureRisk, p.RiskAtLeast != ""},
		{policy.FeatureActors, len(p.Actors) > 0}, {policy.FeatureDistinct, p.DistinctApprover},
	} {
		if !f.used {
			continue
		}
		if err := l.Require(ctx, f.name); err != nil {
			return err
		}
	}
	return nil
}

// number refuses more enabled policies than the licence includes.
func (l Licenses) number(ctx context.Context, enabled int) error {
	if enabled <= policy.FreeEnabled || l.Require(ctx, policy.FeatureUnlimited) == nil {
		return nil
	}
	if enabled <= policy.FiveEnabled {
		return l.Require(ctx, policy.FeatureFive)
	}
	return l.Require(ctx, policy.FeatureUnlimited)
}
