// Package runs is the REST surface of the runs context: submitting, acting on, listing, reading and following runs.
package runs
