// Package objects stores the objects of every context that have a name, an organization and a revision, and what is
// sealed of them.
package objects
