// Package guard stands before the driving ports of runs and lets through what the caller may do. Executors, the sweeper
// and what else works by itself does not pass here.
package guard
