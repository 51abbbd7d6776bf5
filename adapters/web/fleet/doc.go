// Package fleet is the section of the web interface with hosts, tasks, queues and workers.
package fleet
