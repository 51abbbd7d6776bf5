package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
)

// AI counts and measures the calls of the AI provider by this process.
type AI struct{ calls, seconds, tokens *prometheus.CounterVec }

var (
	_ prometheus.Collector = (*AI)(nil)
	_ ai.Meter             = (*AI)(nil)
)

// NewAI makes the collector. It is safe for concurrent use. Every action begins at nothing, so that the first call that
// fails is seen as a change.
func NewAI() *AI {
	a := &AI{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_ai_calls_total", Help: "Calls of the AI provider, by action and result."},
			[]string{"action", "result"}),
		seconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_ai_seconds_total", Help: "Seconds that the AI provider took."}, []string{"action"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_ai_tokens_total", Help: "Tokens of requests and answers, as the provider counts them."},
			[]string{"action"}),
	}
	for _, action := range []audit.Action{audit.AIExplain, audit.AIDraft, audit.AIAsk, audit.AIPropose} {
		for _, r := range ai.Results() {
			a.calls.WithLabelValues(string(action), string(r))
		}
		a.seconds.WithLabelValues(string(action))
		a.tokens.WithLabelValues(string(action))
	}
	return a
}

func (a *AI) Describe(ch chan<- *prometheus.Desc) {
	a.calls.Describe(ch)
	a.seconds.Describe(ch)
	a.tokens.Describe(ch)
}

func (a *AI) Collect(ch chan<- prometheus.Metric) {
	a.calls.Collect(ch)
	a.seconds.Collect(ch)
	a.tokens.Collect(ch)
}

// Count counts a call that ended.
func (a *AI) Count(c ai.Call) {
	a.calls.WithLabelValues(c.Action, string(c.Result)).Inc()
	a.seconds.WithLabelValues(c.Action).Add(max(0, c.Took.Seconds()))
	a.tokens.WithLabelValues(c.Action).Add(float64(max(0, c.Tokens)))
}
