// Package notify delivers to the targets of notifications, one file per kind.
//
// Every channel sends the same facts of a run: its status, duration, number of hosts by result, requester, error and
// id. It sends no variables, environments, outputs and commands; only the webhook sends the record, in which values of
// variables are redacted already. Text from users is stripped of characters that hide or reorder text, cut, and escaped
// for the markup of the target, so that it cannot format, link or mention anybody there.
//
// HTTP requests go through platform/egress. An answer is read only as far as an error needs it, and errors contain only
// the kind, the host and the status.
package notify
