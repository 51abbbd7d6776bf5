// Package runs stores run records, their queue, output, events and summaries in SQL. It implements every store of
// ports/runs on both engines.
//
// A run's row holds the values that lists show and filter by, and those that change often. The table run_documents
// holds the rest. Each write updates the counters in run_counts. Events and output are rows of compressed batches.
// Every write under a lease is one conditional UPDATE; the lease is valid if it affected a row.
package runs
