package catalog

import "github.com/writ-automation/writ/ports/object"

// Record is what every object of the catalog has.
type Record = object.Record

// Filter narrows a list; empty members do not.
type Filter struct {
	Name string // exactly
	Org  string
}
