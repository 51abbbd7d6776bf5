// Package access declares how code asks what the caller of a context may do with an object.
//
// An object is named by its id, or as "queue:<name>". Bounded contexts call the Guard and never read roles themselves.
package access
