// Package grant keeps grants, and the objects that carry them.
package grant
