package grant

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/modules/identity/internal/check"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// Objects hears of objects from the contexts that own them.
type Objects struct {
	store identity.ObjectStore
	unit  tx.Unit
}

var _ identity.Objects = (*Objects)(nil)

// NewObjects makes the keeper of objects.
func NewObjects(s identity.ObjectStore, u tx.Unit) *Objects { return &Objects{store: s, unit: u} }

// An object of a kind that can carry no grant is a defect of the caller, and so is a queue with an organization.
func (o *Objects) Put(ctx context.Context, x identity.Object) error {
	if identity.KindOf(x.ID) == "" {
		return fmt.Errorf("%q is of no kind that can carry grants", x.ID)
	}
	if _, queue := access.QueueName(x.ID); queue && x.Org != "" {
		return fmt.Errorf("%q is a queue and belongs to no organization", x.ID)
	}
	err := o.unit.Do(ctx, func(ctx context.Context) error { return o.store.PutObject(ctx, x) })
	return check.Naming(err, identity.OrgNotFound, "org_id", "no such organization")
}

func (o *Objects) Remove(ctx context.Context, id string) error {
	return o.unit.Do(ctx, func(ctx context.Context) error { return o.store.RemoveObject(ctx, id) })
}
