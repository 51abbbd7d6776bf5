package catalog_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
)

// TestNamedWhileDeleted checks that a new reference to an object and its deletion never both succeed.
func TestNamedWhileDeleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		for n := range 10 {
			i := b.inventory(fmt.Sprint("estate", n))
			x := template(fmt.Sprint("t", n))
			x.InventoryID = i.ID
			var work sync.WaitGroup
			var named, deleted error
			work.Go(func() { _, named = b.Templates.Create(ctx, x) })
			work.Go(func() { deleted = b.Inventories.Delete(ctx, i.ID, 0) })
			work.Wait()
			switch {
			case named == nil && object.InUse.Is(deleted):
			case deleted == nil && catalog.InventoryNotFound.Is(named) && field(named) == "inventory_id":
			default:
				t.Errorf("named: %v, deleted: %v", named, deleted)
			}
		}
	})
}

// TestChangedWhileDeleted checks that a change and a deletion of one object never deadlock.
func TestChangedWhileDeleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		for n := range 10 {
			i := b.inventory(fmt.Sprint("estate", n))
			var work sync.WaitGroup
			var changed, deleted error
			work.Go(func() { _, changed = b.Inventories.Update(ctx, i.ID, 0, inventory(fmt.Sprint("next", n))) })
			work.Go(func() { deleted = b.Inventories.Delete(ctx, i.ID, 0) })
			work.Wait()
			if deleted != nil || changed != nil && !catalog.InventoryNotFound.Is(changed) {
				t.Errorf("changed: %v, deleted: %v", changed, deleted)
			}
			if list, _, err := b.rights.Readable(ctx, "inventory", access.Everything(), window); err != nil || len(list) != 0 {
				t.Errorf("what is gone can carry grants: %v %v", list, err)
			}
		}
	})
}

// TestSameAsAbsent checks that the faults for unreadable and missing objects have the same text.
func TestSameAsAbsent(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	s := b.scene()
	other := scene{}
	other.p.ID, other.i.ID = b.params.IDs.New("prj_"), b.params.IDs.New("inv_")
	other.s.ID, other.t.ID = b.params.IDs.New("src_"), b.params.IDs.New("tpl_")
	b.guard.become(access.None, nil)
	for _, kind := range []string{"project", "inventory", "inventory_source", "template"} {
		for _, a := range ofKind(kind) {
			hidden, absent := a.do(t.Context(), b, s), a.do(t.Context(), b, other)
			if !fault.Is(hidden, fault.NotFound) || !fault.Is(absent, fault.NotFound) {
				t.Errorf("%s %s: %v, %v", kind, a.name, hidden, absent)
				continue
			}
			cut := func(err error) string { return err.Error()[:len(err.Error())-27] }
			if cut(hidden) != cut(absent) {
				t.Errorf("%s %s: %v, %v", kind, a.name, hidden, absent)
			}
		}
	}
}
