// Package object holds what all named configuration objects share, such as templates, credentials and schedules: the
// record, the permission checks, the references between objects, and the rule that an object in use is not deleted.
package object
