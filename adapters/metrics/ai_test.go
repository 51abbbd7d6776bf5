package metrics_test

import (
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/metrics"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
)

func TestAI(t *testing.T) {
	t.Parallel()
	a := metrics.NewAI()
	a.Count(ai.Call{Action: string(audit.AIAsk), Result: ai.Answered, Took: 1500 * time.Millisecond, Tokens: 7})
	a.Count(ai.Call{Action: string(audit.AIAsk), Result: ai.Answered, Took: time.Second, Tokens: 3})
	a.Count(ai.Call{Action: string(audit.AIAsk), Result: ai.Refused})
	// A clock may be set while a call waits.
	a.Count(ai.Call{Action: string(audit.AIDraft), Result: ai.NoAnswer, Took: -time.Second, Tokens: -1})
	want(t, scrape(t, a), `writ_ai_calls_total{action="ai.ask",result="answered"} 2`,
		`writ_ai_calls_total{action="ai.ask",result="refused"} 1`,
		`writ_ai_calls_total{action="ai.draft",result="failed"} 1`,
		`writ_ai_calls_total{action="ai.propose",result="failed"} 0`,
		`writ_ai_seconds_total{action="ai.ask"} 2.5`, `writ_ai_seconds_total{action="ai.draft"} 0`,
		`writ_ai_tokens_total{action="ai.ask"} 10`, `writ_ai_tokens_total{action="ai.explain"} 0`)
}
