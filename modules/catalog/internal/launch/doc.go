// Package launch makes runs of templates: the one way there is, for people, schedules and triggers.
package launch
