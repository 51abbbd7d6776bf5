// Package summary folds a run's events into what it did on each host and in each task. It holds one record a host
// and one a task, whatever the number of events.
package summary
