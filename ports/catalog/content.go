package catalog

import (
	"maps"
	"slices"
)

// InventoryGroup is a group of hosts as the content defines it. Vars holds the variables of the group itself. The
// children of all are ungrouped and the groups without another parent.
type InventoryGroup struct {
	Hosts    []string // in the order of their first appearance
	Children []string
	Vars     map[string]any
}

// InventoryContent is a parsed inventory. The groups all and ungrouped always exist, as in Ansible.
//
// Values are nil, bool, int64, float64 (finite), string, []any and map[string]any. Whole numbers beyond 64 bits are
// json.Number; dates and times are strings in ISO 8601. As in the output of ansible-inventory, an encrypted value is a
// map with the single member "__ansible_vault", and a text that is never a template is a map with the single member
// "__ansible_unsafe". Hosts may share values, so callers must not change them.
type InventoryContent struct {
	Hosts  []string                  // all hosts, in the order of their first appearance
	Vars   map[string]map[string]any // by host, for the hosts that have variables
	Groups map[string]*InventoryGroup
}

// Ordered returns the names of all groups from the root downwards, each once: all, ungrouped, and then in the order of
// the content.
func (c *InventoryContent) Ordered() []string {
	out := make([]string, 0, len(c.Groups))
	seen := make(map[string]bool, len(c.Groups))
	add := func(name string) {
		if _, ok := c.Groups[name]; ok && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	add("all")
	add("ungrouped")
	for i := 0; i < len(out); i++ {
		for _, child := range c.Groups[out[i]].Children {
			add(child)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		add(name)
	}
	return out
}
