package binding

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// Binder reads inventories and the versions of credentials. If one of its members is nil, there are none of these.
type Binder struct {
	refs        catalog.References
	credentials secrets.References
	materials   Materials
	repairs     runs.Repairs
}

// New returns a binder.
func New(r catalog.References, c secrets.References, m Materials) *Binder {
	return &Binder{refs: r, credentials: c, materials: m}
}

// WithRepairs binds runs that repair drift to their findings. If r is nil, they are not.
func (b *Binder) WithRepairs(r runs.Repairs) *Binder {
	b.repairs = r
	return b
}

// Bind returns what a run would execute now. It reads inventories, so it is called outside of units, but for a step
// that is held. A part that no longer exists is absent.
func (b *Binder) Bind(ctx context.Context, r *runs.Run) (runs.Parts, error) {
	inputs, err := record.InputsDigest(r)
	if err != nil {
		return nil, err
	}
	parts := runs.Parts{runs.RequestPart: inputs + " " + r.Commit}
	if err := b.drift(ctx, parts, r); err != nil {
		return nil, err
	}
	credentials := slices.Clone(r.Spec.CredentialIDs)
	for _, x := range specsOf(r) {
		credentials = append(credentials, x.CredentialIDs...)
		if err := b.inventory(ctx, parts, &x); err != nil {
			return nil, err
		}
	}
	if b.credentials == nil || len(credentials) == 0 {
		return parts, nil
	}
	versions, err := b.credentials.Versions(ctx, slices.Compact(slices.Sorted(slices.Values(credentials))))
	for id, n := range versions {
		parts[runs.CredentialPart+" "+id] = strconv.FormatInt(n, 10)
	}
	return parts, err
}

// drift adds the findings that a run would repair: those that it is made for, or that are left of them.
func (b *Binder) drift(ctx context.Context, parts runs.Parts, r *runs.Run) (err error) {
	if b.repairs == nil || r.Origin.Source != runs.FromReconcile {
		return nil
	}
	list := slices.Sorted(slices.Values(r.Repairs))
	if r.Repairs == nil {
		if list, err = b.repairs.Repairs(ctx, r.ID); err != nil {
			return err
		}
	}
	parts[runs.DriftPart+" "+r.Origin.SourceID] = strings.Join(list, " ")
	return nil
}

// Current reads what a run would execute now and where, if it is held and its inventories are refreshed, and drops the
// approvals of anything else.
func (b *Binder) Current(ctx context.Context, r *runs.Run) error {
	a := r.Approvals
	if r.Status != runs.PendingApproval || a == nil || a.Awaiting() {
		return nil
	}
	parts, err := b.Bind(ctx, r)
	if err != nil {
		return err
	}
	a.See(parts)
	a.Given = a.Of(parts.Digest())
	a.Reach, err = b.Reach(ctx, r)
	return err
}

func (b *Binder) inventory(ctx context.Context, parts runs.Parts, x *runs.Spec) error {
	id := x.InventoryID
	if b.refs == nil || id == "" || parts[runs.HostsPart+" "+id+" "+x.Limit] != "" {
		return nil
	}
	content, hosts, err := b.refs.Selected(ctx, id, x.Limit)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if fault.Is(err, fault.Invalid) { // a limit that only the tool can read
		content, hosts, err = b.refs.Selected(ctx, id, "")
	}
	if err == nil {
		parts[runs.InventoryPart+" "+id], parts[runs.HostsPart+" "+id+" "+x.Limit] = content, hosts
	}
	return err
}

// specsOf returns the settings of a run, or of each step of a pipeline.
func specsOf(r *runs.Run) []runs.Spec {
	if r.Graph == nil {
		return []runs.Spec{r.Spec}
	}
	out := make([]runs.Spec, len(r.Graph.Steps))
	for i := range r.Graph.Steps {
		out[i] = r.Graph.Steps[i].Of(&r.Spec)
	}
	return out
}
