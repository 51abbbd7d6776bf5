// Package checkpoint writes and reads the heads of the audit log: C2SP tlog-checkpoints in signed notes.
//
// A note's text has exactly three lines: origin, size and root. Parsing is strict; golang.org/x/mod/sumdb/note then
// verifies the signatures, and any reader can run it on the same bytes. The signer has to make sure that the head is
// committed: a log that signs two roots of one size proves its own misbehaviour.
package checkpoint
