package binding

import (
	"context"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Hosts counts the hosts that a run reaches, or each step of a pipeline. Those of an inventory that is refreshed before
// a run are not known until the run is bound to them. It reads inventories, so it is called before the unit.
func (b *Binder) Hosts(ctx context.Context, r *runs.Run) ([]policy.Targets, error) {
	specs := specsOf(r)
	type selected struct {
		inventory, limit string
		script           bool
	}
	known := map[selected]policy.Targets{}
	out := make([]policy.Targets, len(specs))
	for i := range specs {
		x := &specs[i]
		key := selected{x.InventoryID, x.Limit, extension.Script(x.Tool)}
		t, ok := known[key]
		if !ok {
			var err error
			if t, err = b.count(ctx, x, r.Approvals); err != nil {
				return nil, err
			}
			known[key] = t
		}
		if n := len(x.LimitHosts); n > 0 {
			t.Hosts = n
		}
		out[i] = t
	}
	if n := hostsOf(r); n > 0 {
		out[0].Hosts = n
	}
	return out, nil
}

// hostsOf returns the number of hosts of a run that names them, 0 for another one.
func hostsOf(r *runs.Run) int {
	n := len(r.Spec.LimitHosts)
	for _, shard := range r.ShardHosts {
		n += len(shard)
	}
	return n
}

// count counts the hosts that settings select. Only the inventories of the catalog are known here, and scripts need
// none. A limit that the catalog cannot read selects hosts that are not known.
func (b *Binder) count(ctx context.Context, x *runs.Spec, a *runs.Approvals) (policy.Targets, error) {
	if b.refs == nil || x.InventoryID == "" || extension.Script(x.Tool) {
		return policy.UnknownTargets(), nil
	}
	if bound := a != nil && (a.Parts != nil || a.Approved != nil); !bound && b.materials != nil {
		if fresh, err := b.refs.RefreshesOnLaunch(ctx, x.InventoryID); fresh || err != nil {
			return policy.UnknownTargets(), err
		}
	}
	t, err := b.refs.Targets(ctx, x.InventoryID, x.Limit)
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound) {
		return policy.UnknownTargets(), nil
	}
	return policy.Targets(t), err
}
