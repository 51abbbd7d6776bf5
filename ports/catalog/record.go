package catalog

// Filter narrows a list; empty members match everything.
type Filter struct {
	Name  string   // exact match
	Names []string // one of them; empty for any
	Org   string
}
