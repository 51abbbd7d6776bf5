// Package checkpoint writes and reads the heads of the audit log: C2SP tlog-checkpoints in signed notes.
//
// A note's text is exactly three lines: origin, size and root. Reading is strict, and what passes is then verified by
// golang.org/x/mod/sumdb/note, which any reader can run on the same bytes. Whoever signs makes sure that the head is
// committed: a log that signs two roots of one size has proven its own misbehaviour.
package checkpoint
