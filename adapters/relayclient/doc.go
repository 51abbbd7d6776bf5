// Package relayclient is the worker's end of the relay: the control plane, the secrets and the materials of an
// executor that has no database and reaches a server over HTTP.
//
// Of what it holds it keeps two things. The capability of every claim is in memory and in a private directory of the
// worker, so that its next life can settle what it held. The secrets that came with a claim are in memory alone,
// until they are asked for, once, or the claim is over.
//
// Only the server itself refuses anything for good, by a problem document of its own. Whatever else comes back, from
// a proxy, from a server that is being set up, or because the worker token changed, is Unavailable: a run goes on and
// its worker tries again.
package relayclient
