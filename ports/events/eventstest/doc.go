// Package eventstest tests a bus against its contract.
package eventstest
