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
	KnownHosts    []byte `bun:"-"`
	HostKeyPolicy catalog.HostKeyPolicy
	MaxConcurrent int
}

type inventoryContent struct {
	bun.BaseModel   `bun:"table:inventory_contents,alias:c"`
	InventoryID     string `bun:",pk"`
	Codec           int
	Content         []byte
	KnownHostsCodec int
	KnownHosts      []byte
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
	return s.putTexts(ctx, i.ID, i.Content, i.KnownHosts, "codec", "content", "known_hosts_codec", "known_hosts")
}

// putTexts replaces the named columns of the texts of an inventory.
func (s *Store) putTexts(ctx context.Context, id string, content, knownHosts []byte, columns ...string) error {
	row := inventoryContent{InventoryID: id}
	row.Codec, row.Content = s.pack(content)
	row.KnownHostsCodec, row.KnownHosts = s.pack(knownHosts)
	q := s.d.InUnit(ctx).NewInsert().Model(&row).On("CONFLICT (inventory_id) DO UPDATE")
	for _, c := range columns {
		q.Set("? = EXCLUDED.?", bun.Ident(c), bun.Ident(c))
	}
	_, err := db.Modify(ctx, q)
	return db.Wrap(err, "store the texts of an inventory")
}

// pack packs a text for a column that is never NULL.
func (s *Store) pack(text []byte) (codec int, packed []byte) {
	if codec, packed = s.codec.Pack(text); packed == nil {
		packed = []byte{}
	}
	return codec, packed
}

func (s *Store) InventoryByID(ctx context.Context, id string) (catalog.Inventory, error) {
	return inventories.ByID(ctx, s.d.Read(ctx), id)
}

func (s *Store) InventoryText(ctx context.Context, id string) (catalog.InventoryText, error) {
	var row struct {
		Format          catalog.Format
		HostKeyPolicy   catalog.HostKeyPolicy
		Codec           int
		Content         []byte
		KnownHostsCodec int
		KnownHosts      []byte
	}
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model((*inventory)(nil)).Column("format", "host_key_policy").
		ColumnExpr("c.codec, c.content, c.known_hosts_codec, c.known_hosts").
		Join("JOIN inventory_contents AS c ON c.inventory_id = o.id").Where("o.id = ?", id), &row)
	switch {
	case err != nil:
		return catalog.InventoryText{}, fmt.Errorf("read the texts of an inventory: %w", err)
	case !ok:
		return catalog.InventoryText{}, inventories.None(id)
	}
	out := catalog.InventoryText{Format: row.Format, HostKeyPolicy: row.HostKeyPolicy}
	if out.Content, err = s.codec.Unpack(row.Codec, row.Content); err == nil {
		out.KnownHosts, err = s.codec.Unpack(row.KnownHostsCodec, row.KnownHosts)
	}
	return out, err
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
	var columns []string
	if i.Content != nil {
		columns = append(columns, "codec", "content")
	}
	if i.KnownHosts != nil {
		columns = append(columns, "known_hosts_codec", "known_hosts")
	}
	if err == nil && len(columns) > 0 {
		err = s.putTexts(ctx, i.ID, i.Content, i.KnownHosts, columns...)
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
		Column("revision", "updated_at", "format", "host_count", "group_count", "digest").
		Value("revision", "o.revision + CASE WHEN o.digest = ? THEN 0 ELSE 1 END", i.Digest).
		Value("updated_at", "CASE WHEN o.digest = ? THEN o.updated_at ELSE ? END", i.Digest, row.UpdatedAt).WherePK())
	switch {
	case err != nil:
		return fmt.Errorf("fill an inventory: %w", err)
	case n == 0:
		return inventories.None(i.ID)
	}
	return s.putTexts(ctx, i.ID, i.Content, nil, "codec", "content")
}
