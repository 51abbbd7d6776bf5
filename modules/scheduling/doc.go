// Package scheduling fires schedules and triggers.
package scheduling
