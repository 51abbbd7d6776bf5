// Package relay is the server's side of workers that have no database: it leases runs to them, provides the projects,
// inventories and secrets of the runs, and accepts their reports.
//
// A worker may report only about the run that it holds. It proves that it holds one with the capability from the
// answer to its claim. The server stores the SHA-256 of the capability with the run, epoch and worker of the lease.
// Whether that lease is still valid is decided as for all writers, by the control plane's compare-and-set on run,
// worker and epoch. Capabilities and secrets leave this package once, in the answer to a claim. What masks the reports
// of a claim is stored sealed, so that each server and each later process masks them alike, and deleted with the claim.
package relay
