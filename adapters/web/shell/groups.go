package shell

import (
	"cmp"
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
)

// maxGroups is how many groups of an inventory are counted.
const maxGroups = 8

// GroupCount is a group of an inventory with how many of the selected hosts it has.
type GroupCount struct {
	Name  string
	Hosts int
}

// Groups counts the hosts that a limit selects in each of the first groups of an inventory, the largest first. Groups
// overlap, so the sum may be larger than the number of hosts.
func Groups(ctx context.Context, of catalog.Inventories, id, limit string, found catalog.Resolution) []GroupCount {
	var out []GroupCount
	for _, g := range found.Groups[:min(len(found.Groups), maxGroups)] {
		pattern := g
		if limit != "" {
			pattern = limit + ",&" + g
		}
		part, err := of.Resolve(ctx, id, pattern)
		if err != nil { // a name that is no pattern has no count
			continue
		}
		if part.Count > 0 {
			out = append(out, GroupCount{g, part.Count})
		}
	}
	slices.SortStableFunc(out, func(a, b GroupCount) int { return cmp.Compare(b.Hosts, a.Hosts) })
	return out
}
