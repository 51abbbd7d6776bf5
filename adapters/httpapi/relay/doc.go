// Package relay serves workers that have no database: they claim runs, report results, and fetch the projects and
// inventories that the runs name.
//
// A caller proves two facts. The worker token in the Authorization header proves that it is a worker of this
// installation. The header Relay-Capability proves that it holds the run; the answer to the claim contains it, and it
// is valid for this claim only. Every call except the claim requires it. A capability that is missing, malformed,
// expired or of another run leads to the same refusal, lease_lost, whether or not the run exists; the worker then ends
// its run.
package relay
