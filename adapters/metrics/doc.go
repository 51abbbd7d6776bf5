// Package metrics turns what the contexts count into Prometheus series: runs and queues from the store's counters,
// ended runs from the bus, notifications from who delivers them, and the database's own counts. Labels are bounded in
// number and never free text.
package metrics
