// Package approvals is the section of the web interface with held runs and their decisions.
package approvals
