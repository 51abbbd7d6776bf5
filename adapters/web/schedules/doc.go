// Package schedules is the section of the web interface with schedules, their calendar, and triggers.
package schedules
