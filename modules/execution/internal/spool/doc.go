// Package spool holds what a run has said until it is stored: a little in memory, more in files of the run's private
// directory, so that neither the child nor the memory pays for a slow store.
//
// The log is lossy by contract: when its spool is full, the middle goes and is counted. Events are not: when their
// spool is full, the one who adds waits. Both files can be read back after the process was killed.
package spool
