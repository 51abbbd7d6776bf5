package ai

import "time"

// Result is how a call of the provider ended.
type Result string

// The results of a call.
const (
	Answered Result = "answered"
	NoAnswer Result = "failed"   // no answer, or one that the trail did not take
	Canceled Result = "canceled" // the caller did not wait
	Refused  Result = "refused"  // Busy or TooMany: the provider was not asked
)

// Results returns every result of a call.
func Results() []Result { return []Result{Answered, NoAnswer, Canceled, Refused} }

// Call is a call that ended.
type Call struct {
	Action string // of its entry in the trail, such as ai.ask
	Result Result
	Took   time.Duration // 0 if the provider was not asked
	Tokens int           // 0 if that is unknown
}

// Meter counts calls of the provider. It is safe for concurrent use.
type Meter interface {
	Count(Call)
}
