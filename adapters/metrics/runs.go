package metrics

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/runs"
)

// countTimeout bounds the one read of a scrape.
const countTimeout = 2 * time.Second

// maxQueues bounds how many queues have series of their own; the rest are summed up as "other".
const maxQueues = 100

// Counter is the part of the runs store that a scrape reads: counters, never history.
type Counter interface {
	Counts(ctx context.Context) ([]runs.Count, error)
}

// QueueNames returns the names of queues that may be shown.
type QueueNames func(ctx context.Context) (map[string]bool, error)

// Runs collects how many runs there are and how long they wait.
type Runs struct {
	store  Counter
	names  QueueNames
	clock  clock.Clock
	runs   *prometheus.Desc
	depth  *prometheus.Desc
	oldest *prometheus.Desc
}

var _ prometheus.Collector = (*Runs)(nil)

// NewRuns makes the collector over a store. Queues without a name that may be shown are summed up as "other"; nil names
// show every one.
func NewRuns(store Counter, names QueueNames, c clock.Clock) *Runs {
	return &Runs{
		store: store, names: names, clock: c,
		runs:  prometheus.NewDesc("writ_runs", "Top-level runs by status.", []string{"status"}, nil),
		depth: prometheus.NewDesc("writ_queue_depth", "Runs that wait for an executor.", []string{"queue"}, nil),
		oldest: prometheus.NewDesc("writ_queue_oldest_seconds", "How long the oldest waiting run has waited.",
			[]string{"queue"}, nil),
	}
}

func (r *Runs) Describe(ch chan<- *prometheus.Desc) { ch <- r.runs; ch <- r.depth; ch <- r.oldest }

// A store that cannot be read leaves an error in place of the series.
func (r *Runs) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	counts, err := r.store.Counts(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(r.runs, err)
		return
	}
	top := make(map[runs.Status]int64)
	for _, c := range counts {
		top[c.Status] += c.Top
	}
	for _, s := range runs.Statuses() {
		ch <- prometheus.MustNewConstMetric(r.runs, prometheus.GaugeValue, float64(top[s]), string(s))
	}
	var shown map[string]bool
	if r.names != nil {
		if shown, err = r.names(ctx); err != nil {
			ch <- prometheus.NewInvalidMetric(r.depth, err)
			return
		}
	}
	r.queues(ch, fold(counts, func(queue string) bool { return r.names == nil || shown[queue] }))
}

func (r *Runs) queues(ch chan<- prometheus.Metric, queues []runs.Count) {
	now := r.clock.Now()
	for _, q := range queues {
		wait := 0.0
		if !q.Oldest.IsZero() {
			wait = max(now.Sub(q.Oldest).Seconds(), 0)
		}
		ch <- prometheus.MustNewConstMetric(r.depth, prometheus.GaugeValue, float64(q.Runs), q.Queue)
		ch <- prometheus.MustNewConstMetric(r.oldest, prometheus.GaugeValue, wait, q.Queue)
	}
}

const otherQueues = "other"

// fold sums up the pending counts by queue, the default queue always among them, and puts those beyond the bound, those
// with an odd name and those that are not shown together.
func fold(counts []runs.Count, shown func(queue string) bool) []runs.Count {
	by := map[string]*runs.Count{runs.DefaultQueue: {Queue: runs.DefaultQueue}}
	pending := make([]runs.Count, 0, len(counts))
	for _, c := range counts {
		if c.Status == runs.Pending {
			pending = append(pending, c)
		}
	}
	slices.SortFunc(pending, func(a, b runs.Count) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Queue, b.Queue))
	})
	for _, c := range pending {
		if _, known := by[c.Queue]; !known && (!plain(c.Queue) || !shown(c.Queue) || len(by) >= maxQueues) {
			c.Queue = otherQueues
		}
		add(by, c)
	}
	out := make([]runs.Count, 0, len(by))
	for _, c := range by {
		out = append(out, *c)
	}
	return out
}

func add(by map[string]*runs.Count, c runs.Count) {
	sum, ok := by[c.Queue]
	if !ok {
		by[c.Queue] = &c
		return
	}
	sum.Runs += c.Runs
	if sum.Oldest.IsZero() || (!c.Oldest.IsZero() && c.Oldest.Before(sum.Oldest)) {
		sum.Oldest = c.Oldest
	}
}

// plain reports whether a queue's name is short and of ordinary characters.
func plain(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
