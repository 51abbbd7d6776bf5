// Package relay is the server's side of workers that have no database: it leases runs to them, gives them what the
// runs name, and takes what they report.
//
// A worker is believed what it says of the run that it holds, and nothing else. It proves that it holds one with the
// capability that its claim was answered with, of which the SHA-256 is kept with the run, epoch and worker of the
// lease; whether that lease still rules is decided where everybody's writes are, by the control plane's
// compare-and-set on run, worker and epoch. Capabilities and secrets leave this package in the answer to a claim,
// once, and are kept nowhere.
package relay
