// Package ai defines advice of a language model: why a run failed, a script from a description, answers about the
// fleet, and proposals of runs.
//
// Advice never acts. It is text, or a run that is held for approval and that was checked like every other request.
// What a model says is as little trusted as the logs that it reads. A model gets masked output and metadata of what its
// caller may read, and no variables, environments or secrets. Every call of a model has an entry in the audit trail,
// with the digests of what was sent and of what came back.
package ai
