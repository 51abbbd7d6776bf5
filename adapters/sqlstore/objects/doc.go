// Package objects stores objects with a name, an organization and a revision for all contexts, and their sealed values.
package objects
