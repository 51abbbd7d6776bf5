// Package workflows is the section of the web interface with the steps of a pipeline: as a graph and as a list.
package workflows
