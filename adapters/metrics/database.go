package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/platform/db"
)

// Database collects the database's own counts.
type Database struct {
	stats func() db.Stats
	desc  map[string]*prometheus.Desc
	group *prometheus.Desc
}

var _ prometheus.Collector = (*Database)(nil)

// NewDatabase makes the collector over a database's counts.
func NewDatabase(stats func() db.Stats) *Database {
	d := &Database{stats: stats, desc: make(map[string]*prometheus.Desc)}
	for name, help := range map[string]string{
		"writ_db_units_total":           "Units of work that were committed.",
		"writ_db_unit_failures_total":   "Attempts at a unit of work that were rolled back.",
		"writ_db_unit_retries_total":    "Attempts after a conflict.",
		"writ_db_commits_total":         "Commits that were answered.",
		"writ_db_commit_errors_total":   "Commits whose outcome is unknown.",
		"writ_db_stalled_units_total":   "Units of work that were given up because they took too long.",
		"writ_db_reconnects_total":      "Times that the notification connection was opened anew.",
		"writ_db_connections":           "Open connections of the pool.",
		"writ_db_connections_in_use":    "Connections of the pool that are in use.",
		"writ_db_connection_wait_total": "Times that a query waited for a connection.",
	} {
		d.desc[name] = prometheus.NewDesc(name, help, nil, nil)
	}
	d.group = prometheus.NewDesc("writ_db_commit_group_total", "Commits by the most units that shared one.",
		[]string{"units"}, nil)
	return d
}

func (d *Database) Describe(ch chan<- *prometheus.Desc) {
	for _, x := range d.desc {
		ch <- x
	}
	ch <- d.group
}

func (d *Database) Collect(ch chan<- prometheus.Metric) {
	s := d.stats()
	for name, v := range map[string]uint64{
		"writ_db_units_total": s.Units, "writ_db_unit_failures_total": s.Failed, "writ_db_unit_retries_total": s.Retries,
		"writ_db_commits_total": s.Commits, "writ_db_commit_errors_total": s.CommitErrors,
		"writ_db_stalled_units_total": s.Stalled, "writ_db_reconnects_total": s.Reconnects,
		"writ_db_connection_wait_total": uint64(max(s.Reads.WaitCount, 0)),
	} {
		ch <- prometheus.MustNewConstMetric(d.desc[name], prometheus.CounterValue, float64(v))
	}
	ch <- prometheus.MustNewConstMetric(d.desc["writ_db_connections"], prometheus.GaugeValue,
		float64(s.Reads.OpenConnections))
	ch <- prometheus.MustNewConstMetric(d.desc["writ_db_connections_in_use"], prometheus.GaugeValue,
		float64(s.Reads.InUse))
	for i, n := range s.GroupSizes {
		bound := "more"
		if i < len(db.GroupBounds) {
			bound = strconv.Itoa(db.GroupBounds[i])
		}
		ch <- prometheus.MustNewConstMetric(d.group, prometheus.CounterValue, float64(n), bound)
	}
}
