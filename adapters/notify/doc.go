// Package notify reaches the targets of notifications, one file per kind.
//
// Every channel tells the same few facts of a run: how it ended, how long it took, how many hosts came out how, who
// asked for it, why it failed and its id. Variables, environments, outputs and commands are never among them; only
// the webhook sends the record, in which values of variables are redacted already. All text that people chose is
// stripped of what hides or reorders text, cut, and escaped for the markup of the place where it is shown, so that it
// can neither format, link nor mention anybody there.
//
// What speaks HTTP goes through platform/egress. An answer is read no further than an error needs it, and errors name
// the kind, the host and the status alone.
package notify
