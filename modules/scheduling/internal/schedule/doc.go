// Package schedule manages schedules. A schedule fires with the rights of the author of its last change, so each
// change is checked like a submission of the target by its caller.
package schedule
