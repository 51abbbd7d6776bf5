// Package summary folds a run's events into its results on each host and in each task. It holds one record per host
// and one per task, whatever the number of events.
package summary
