package ai

import "github.com/writ-automation/writ/ports/fault"

// The faults of this context.
var (
	// Disabled is a call on a server without a provider.
	Disabled = fault.Code{Name: "ai_disabled", Kind: fault.NotFound}
	// TooMany is a question beyond AskLimit. It names when the next one is answered.
	TooMany = fault.Code{Name: "ai_rate_limited", Kind: fault.RateLimited}
	// Busy is a call beyond MaxCalls or MaxAccountCalls at a time.
	Busy = fault.Code{Name: "ai_busy", Kind: fault.Unavailable}
	// Failed is a provider that did not answer, or gave no usable answer.
	Failed = fault.Code{Name: "ai_failed", Kind: fault.Unavailable}
	// BadProposal is an answer that is no valid request for a run. Nothing was made.
	BadProposal = fault.Code{Name: "ai_proposal_invalid", Kind: fault.Invalid}
)
