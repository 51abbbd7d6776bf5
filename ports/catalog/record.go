package catalog

// Filter narrows a list; empty members match everything.
type Filter struct {
	Name string // exact match
	Org  string
}
