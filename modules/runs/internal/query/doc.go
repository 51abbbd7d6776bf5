// Package query answers questions about runs. It changes nothing.
package query
