package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Slots tells which keys a run waits for, as runs.SlotStore does.
type Slots interface {
	Busy(ctx context.Context, seq int64) ([]runs.BusyKey, error)
}

// Gate tells with RunNotFound that the caller may not read a run.
type Gate interface {
	Read(ctx context.Context, id string) error
}

// busy has a reason for each key of a pending run that other runs have or wait for. A run below a parent waits with it.
// Whether the run was tried makes no difference.
func (x *Explainer) busy(ctx context.Context, r *runs.Run) ([]runs.Reason, error) {
	if x.Slots == nil || !r.Gated {
		return nil, nil
	}
	top := r
	if r.ParentID != "" {
		var err error
		if top, err = x.Runs.ByID(ctx, r.ParentID); err != nil {
			return nil, err
		}
	}
	keys, err := x.Slots.Busy(ctx, top.Seq)
	if err != nil {
		return nil, err
	}
	var out []runs.Reason
	for _, k := range keys {
		reason, err := x.busyAt(ctx, k)
		if err != nil {
			return nil, err
		}
		reason.Since = r.QueuedAt
		out = append(out, reason)
	}
	return out, nil
}

func (x *Explainer) busyAt(ctx context.Context, k runs.BusyKey) (runs.Reason, error) {
	code, text := describe(k)
	out := runs.Reason{Code: code, Text: text}
	before := k.First
	if len(k.Holders) > 0 {
		before = k.Holders[0]
	}
	switch err := x.Gate.Read(ctx, before); {
	case err == nil:
		out.Object = before
	case !fault.Is(err, fault.NotFound):
		return out, err
	}
	other := "another run"
	if out.Object != "" {
		other = "run " + out.Object
	}
	switch {
	case k.Ahead == 0 && len(k.Holders) > 1:
		out.Next = "one of " + other + " and the others ends, then this one is next"
	case k.Ahead == 0:
		out.Next = other + " ends, then this one is next"
	case k.Ahead == 1 && len(k.Holders) == 0:
		out.Next = other + " waits before this one"
	case k.Ahead == 1:
		out.Next = other + " ends; one run waits before this one"
	default:
		out.Next = fmt.Sprintf("%s ends; %d runs wait before this one", other, k.Ahead)
		if len(k.Holders) == 0 {
			out.Next = fmt.Sprintf("%d runs wait before this one", k.Ahead)
		}
	}
	return out, nil
}

// describe returns the code and the text of a reason.
func describe(k runs.BusyKey) (code, text string) {
	kind, name, _ := strings.Cut(string(k.Key), ":")
	limit := fmt.Sprintf("allows %d runs at a time", k.Limit)
	if k.Limit == 1 {
		limit = "allows one run at a time"
	}
	switch kind + ":" {
	case runs.TemplateSlot:
		return "busy_template", "its template " + limit
	case runs.InventorySlot:
		return "busy_inventory", fmt.Sprintf("the inventory %s %s", name, limit)
	case runs.QueueSlot:
		return "busy_queue", fmt.Sprintf("the queue %q %s", name, limit)
	case runs.LockSlot:
		return "locked", fmt.Sprintf("another run has or waits for the lock %q", name)
	case runs.HostSlot:
		if name != "*" {
			return "hosts_busy", fmt.Sprintf("another run with exclusive hosts has or waits for the host %s", name)
		}
	}
	return "hosts_busy", "which hosts a run with exclusive hosts reaches is not known before it is executed, so that it " +
		"waits for all others and they wait for it"
}
