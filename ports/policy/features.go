package policy

// The licensed features of this context. An install without a licence has one enabled policy that requires approval.
const (
	// FeatureFive is up to five enabled policies, FeatureUnlimited any number.
	FeatureFive      = "policies_up_to_five"
	FeatureUnlimited = "policies_unlimited"
	// FeatureDeny is the effect deny, FeatureRisk risk_at_least, FeatureActors actors, FeatureDistinct
	// distinct_approver.
	FeatureDeny     = "policy_deny"
	FeatureRisk     = "policy_risk"
	FeatureActors   = "policy_actors"
	FeatureDistinct = "policy_distinct_approver"
)

// EnabledLimits are the numbers of enabled policies without a licence, and with FeatureFive.
const (
	FreeEnabled = 1
	FiveEnabled = 5
)
