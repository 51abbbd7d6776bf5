package rights

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// Objects implements identity.Objects.
type Objects struct {
	store identity.ObjectStore
	unit  tx.Unit
}

var _ identity.Objects = (*Objects)(nil)

// NewObjects makes an Objects over a store.
func NewObjects(s identity.ObjectStore, u tx.Unit) *Objects { return &Objects{store: s, unit: u} }

// Put returns an internal error for an object of a kind without grants and for a queue with an organization, because
// both are defects of the caller.
func (o *Objects) Put(ctx context.Context, x identity.Object) error {
	if identity.KindOf(x.ID) == "" {
		return fmt.Errorf("%q is of no kind that can carry grants", x.ID)
	}
	if _, queue := access.QueueName(x.ID); queue && x.Org != "" {
		return fmt.Errorf("%q is a queue and belongs to no organization", x.ID)
	}
	err := o.unit.Do(ctx, func(ctx context.Context) error { return o.store.PutObject(ctx, x) })
	return kernel.Naming(err, identity.OrgNotFound, "org_id", "no such organization")
}

func (o *Objects) Remove(ctx context.Context, id string) error {
	return o.unit.Do(ctx, func(ctx context.Context) error { return o.store.RemoveObject(ctx, id) })
}
