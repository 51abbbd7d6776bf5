// Package access says what the caller of a context may do to single objects.
//
// An object is named by its id, or as "queue:<name>". Contexts ask the Guard and never look at roles themselves.
package access
