package binding

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// HostNames returns the hosts that a run would be executed on, sorted, or nil if they are not known: without an
// inventory of the catalog, or with a limit that only the tool can read. It reads inventories, so it is called outside
// of units.
func (b *Binder) HostNames(ctx context.Context, r *runs.Run) ([]string, error) {
	out := slices.Concat(r.ShardHosts...)
	if len(out) == 0 {
		for _, x := range specsOf(r) {
			list, err := b.names(ctx, &x)
			if err != nil || list == nil {
				return nil, err
			}
			out = append(out, list...)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(append([]string{}, out...)))), nil
}

// Limit is what bounds the hosts of a run or of a step.
type Limit struct {
	Pattern string
	Hosts   []string
}

// Limited reports whether there is a bound.
func (l Limit) Limited() bool { return l.Pattern != "" || len(l.Hosts) > 0 }

// Limits returns the limit of a run, or those of its steps in their order.
func Limits(r *runs.Run) []Limit {
	if hosts := slices.Concat(r.ShardHosts...); len(hosts) > 0 {
		slices.Sort(hosts)
		return []Limit{{Hosts: hosts}}
	}
	var out []Limit
	for _, x := range specsOf(r) {
		out = append(out, Limit{x.Limit, x.LimitHosts})
	}
	return out
}

// Reach returns the hosts that a run would reach now. It reads inventories, so it is called outside of units.
func (b *Binder) Reach(ctx context.Context, r *runs.Run) (*runs.Reach, error) {
	out, hosts := &runs.Reach{}, slices.Concat(r.ShardHosts...)
	if len(hosts) == 0 {
		for _, x := range specsOf(r) {
			if extension.Script(x.Tool) {
				continue
			}
			list, err := b.names(ctx, &x)
			if err != nil {
				return nil, err
			}
			hosts, out.Unknown = append(hosts, list...), out.Unknown || list == nil
		}
	}
	out.Hosts = slices.Compact(slices.Sorted(slices.Values(hosts)))
	return out, nil
}

func (b *Binder) names(ctx context.Context, x *runs.Spec) ([]string, error) {
	switch {
	case len(x.LimitHosts) > 0:
		return x.LimitHosts, nil
	case b.refs == nil || x.InventoryID == "":
		return nil, nil
	}
	list, err := b.refs.Hosts(ctx, x.InventoryID, x.Limit)
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err == nil && list == nil {
		list = []string{}
	}
	return list, err
}
