// Package spool holds the output and events of a run until they are stored: a little in memory, more in files of the
// run's private directory, so that a slow store neither blocks the child nor uses much memory.
//
// The log may lose data: when its spool is full, the middle is dropped and counted. Events are never lost: when their
// spool is full, Put waits. Both files can be read after the process was killed.
package spool
