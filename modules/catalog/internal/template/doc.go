// Package template stores templates and creates runs from them, for users, schedules and triggers. Boundary: it owns
// the run requests. No other package of this context creates one.
package template
