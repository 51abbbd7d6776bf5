// Package eventstest holds a bus to its contract.
package eventstest
