// Package relay serves workers that have no database: they claim runs, report what became of them, and fetch what the
// runs name.
//
// Who calls proves two things. The worker token in the Authorization header says that it is a worker of this install.
// The header Relay-Capability, which came with the claim of a run and is good for nothing else, says that it holds
// that run; it is asked of everything but the claim. A capability that is missing, malformed, another run's or over
// is one and the same refusal, lease_lost, whatever the run is: the worker ends what it runs.
package relay
