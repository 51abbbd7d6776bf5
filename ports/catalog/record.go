package catalog

import "time"

// Record is what every object of the catalog has. Names are unique per kind within an organization, on one line and at most 200
// characters long.
type Record struct {
	ID   string
	Name string
	Org  string // empty: none
	// CreatedBy is the account's id, or the name of an actor without one.
	CreatedBy string
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64 // counts the changes that a caller asked for; the ETag
}

// Filter narrows a list; empty members do not.
type Filter struct {
	Name string // exactly
	Org  string
}

// Use is an object that names another one.
type Use struct{ Kind, ID string }

// MaxUses is how many users of an object a fault names.
const MaxUses = 20
