package catalog

// InventoryGroup is a group of hosts as it was written. Vars are those of the group alone. Children of all are the
// groups that are nobody else's, and ungrouped.
type InventoryGroup struct {
	Hosts    []string // in the order of their first appearance
	Children []string
	Vars     map[string]any
}

// InventoryContent is what an inventory says. The groups all and ungrouped always exist, as in Ansible.
//
// Values are nil, bool, int64, float64 (finite), string, []any and map[string]any; whole numbers beyond 64 bits are
// json.Number, dates and times are in ISO 8601. An encrypted value is a map of the one member "__ansible_vault", a text
// that is never a template one of "__ansible_unsafe", as ansible-inventory prints them. Values may be shared between
// hosts, so nobody changes them.
type InventoryContent struct {
	Hosts  []string                  // every host, in the order of its first appearance
	Vars   map[string]map[string]any // of each host that has some
	Groups map[string]*InventoryGroup
}
