// Package runs keeps run records, their queue, output, events and summaries in SQL. It implements every store of
// ports/runs on both engines.
//
// A run's row holds what is listed, filtered and changed often. What lists never show lies in run_documents. Counts
// are kept by the writes in run_counts. Events and output are rows of compressed batches. Every write under a lease
// is one conditional UPDATE whose affected rows decide.
package runs
