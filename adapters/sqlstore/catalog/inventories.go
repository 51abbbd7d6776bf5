package catalog

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

type inventory struct {
	bun.BaseModel `bun:"table:inventories,alias:o"`
	objects.Record
	inventoryColumns
}

// inventoryColumns maps a catalog.Inventory to columns.
type inventoryColumns struct {
	object.Record `bun:"-"`
	Content       []byte `bun:"-"`
	Format        catalog.Format
	CredentialIDs []string `bun:"credential_ids"`
	Queue         string
	Hosts         int `bun:"host_count"`
	Groups        int `bun:"group_count"`
	Digest        string
}

type inventoryContent struct {
	bun.BaseModel `bun:"table:inventory_contents,alias:c"`
	InventoryID   string `bun:",pk"`
	Codec         int
	Content       []byte
}

func inventoryRow(i catalog.Inventory) inventory {
	return inventory{Record: objects.Record(i.Record), inventoryColumns: inventoryColumns(i)}
}

func (i inventory) Object() catalog.Inventory {
	out := catalog.Inventory(i.inventoryColumns)
	out.Record = object.Record(i.Record)
	return out
}

var inventories = objects.Kind[catalog.Inventory, inventory]{Noun: "inventory", Missing: catalog.InventoryNotFound}

// An inventory without content is empty.
func (s *Store) InsertInventory(ctx context.Context, i catalog.Inventory) error {
	if err := inventories.Insert(ctx, s.d, inventoryRow(i)); err != nil {
		return err
	}
	return s.putContent(ctx, i)
}

// putContent replaces the content of an inventory.
func (s *Store) putContent(ctx context.Context, i catalog.Inventory) error {
	row := inventoryContent{InventoryID: i.ID}
	if row.Codec, row.Content = s.codec.Pack(i.Content); row.Content == nil {
		row.Content = []byte{}
	}
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).On("CONFLICT (inventory_id) DO UPDATE"))
	return db.Wrap(err, "store the content of an inventory")
}

func (s *Store) InventoryByID(ctx context.Context, id string) (catalog.Inventory, error) {
	return inventories.ByID(ctx, s.d.Read(ctx), id)
}

func (s *Store) InventoryContent(ctx context.Context, id string) ([]byte, catalog.Format, error) {
	var row struct {
		Format  catalog.Format
		Codec   int
		Content []byte
	}
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model((*inventory)(nil)).Column("format").
		ColumnExpr("c.codec, c.content").
		Join("JOIN inventory_contents AS c ON c.inventory_id = o.id").Where("o.id = ?", id), &row)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("read the content of an inventory: %w", err)
	case !ok:
		return nil, "", inventories.None(id)
	}
	content, err := s.codec.Unpack(row.Codec, row.Content)
	return content, row.Format, err
}

// They are ordered by name and id.
func (s *Store) ListInventories(
	ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window,
) ([]catalog.Inventory, int, error) {
	return inventories.List(ctx, s.d.Read(ctx), objects.Where(visible.Those(sc, identity.KindInventory, "o.id")), f, w)
}

// Format, counts and digest depend on the content and only change with it.
func (s *Store) UpdateInventory(ctx context.Context, i catalog.Inventory, revision int64) (catalog.Inventory, error) {
	is, err := inventories.Update(ctx, s.d, inventoryRow(i), revision, func(q *bun.UpdateQuery) *bun.UpdateQuery {
		if i.Content == nil {
			q.ExcludeColumn("format", "host_count", "group_count", "digest")
		}
		return q
	})
	if err == nil && i.Content != nil {
		err = s.putContent(ctx, i)
	}
	return is, err
}

// The content and the references of the inventory are deleted with it.
func (s *Store) DeleteInventory(ctx context.Context, id string, revision int64) error {
	return inventories.Remove(ctx, s.d, id, revision)
}

func (s *Store) FillInventory(ctx context.Context, i catalog.Inventory) error {
	row := inventoryRow(i)
	n, err := db.Modify(ctx, s.d.InUnit(ctx).NewUpdate().Model(&row).
		Column("revision", "format", "host_count", "group_count", "digest").
		Value("revision", "o.revision + CASE WHEN o.digest = ? THEN 0 ELSE 1 END", i.Digest).WherePK())
	switch {
	case err != nil:
		return fmt.Errorf("fill an inventory: %w", err)
	case n == 0:
		return inventories.None(i.ID)
	}
	return s.putContent(ctx, i)
}
