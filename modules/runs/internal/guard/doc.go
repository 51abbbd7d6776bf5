// Package guard decides what the caller may do with runs, by the objects that the runs name. The gate makes the
// decision; the other types wrap the driving ports of runs and refuse what the gate does not allow.
//
// Executors and background work use the ports without the guard. The package does not know roles or grants: the gate
// gets them through ports/access.
package guard
