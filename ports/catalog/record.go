package catalog

// Filter narrows a list; empty members do not.
type Filter struct {
	Name string // exactly
	Org  string
}
