// Package fleet stores how hosts and tasks did in their runs, and answers it.
package fleet
