// Package runs is the section of the web interface with the list of runs.
package runs
