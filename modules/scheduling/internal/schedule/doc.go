// Package schedule keeps schedules. A schedule fires with the rights of whoever changed it last, so each change is
// judged as if its caller submitted the target then and there.
package schedule
