// Package plan decides what an import does with each object of a draft, and does it.
//
// Boundary: it works in the unit of work of its caller, with what package objects finds there. It knows no format.
package plan
