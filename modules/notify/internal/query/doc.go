// Package query lists the notifications of a run for callers who may read the run.
package query
