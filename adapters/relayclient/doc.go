// Package relayclient is the worker's end of the relay: the control plane, the secrets and the materials of an
// executor that has no database and reaches a server over HTTP.
//
// It stores two kinds of data about held runs. The capability of every claim is in memory and in a private directory
// of the worker, so that a restarted worker can settle its runs. The secrets of a claim are only in memory, until they
// are requested once or the claim ends.
//
// Only a problem document of the server itself is a final refusal. Any other failure, from a proxy, from a server
// during its setup, or because the worker token changed, is Unavailable: the run continues and the worker tries again.
package relayclient
