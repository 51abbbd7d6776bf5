package catalog

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/adapters/sqlstore/shelf"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

func inventories() shelf.Kind[catalog.Inventory] {
	return shelf.Kind[catalog.Inventory]{
		Table: "inventories", Noun: "inventory", Missing: catalog.InventoryNotFound, Scan: scanInventory,
		Columns: []string{"format", "credential_ids", "queue", "host_count", "group_count", "digest"},
	}
}

// InsertInventory implements catalog.InventoryStore. Without content it is empty.
func (s *Store) InsertInventory(ctx context.Context, i catalog.Inventory) error {
	credentials, err := pack.Document(i.CredentialIDs)
	if err != nil {
		return err
	}
	if err := inventories().Insert(ctx, s.d, i.Record, string(i.Format), credentials, i.Queue, i.Hosts, i.Groups, i.Digest); err != nil {
		return err
	}
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	return s.fill(ctx, q, i.ID, i.Content)
}

// fill replaces what an inventory says.
func (s *Store) fill(ctx context.Context, q bun.IDB, id string, content []byte) error {
	codec, packed := s.codec.Pack(content)
	if packed == nil {
		packed = []byte{}
	}
	_, err := db.Exec(ctx, q, "INSERT INTO inventory_contents (inventory_id, codec, content) VALUES (?, ?, ?) "+
		"ON CONFLICT (inventory_id) DO UPDATE SET codec = excluded.codec, content = excluded.content", id, codec, packed)
	if err != nil {
		return fmt.Errorf("store the content of an inventory: %w", err)
	}
	return nil
}

// InventoryByID implements catalog.InventoryStore.
func (s *Store) InventoryByID(ctx context.Context, id string) (catalog.Inventory, error) {
	return inventories().ByID(ctx, s.d.Read(ctx), id)
}

// InventoryContent implements catalog.InventoryStore.
func (s *Store) InventoryContent(ctx context.Context, id string) ([]byte, catalog.Format, error) {
	type stored struct {
		format catalog.Format
		codec  int
		packed []byte
	}
	c, ok, err := db.One(ctx, s.d.Read(ctx), func(r db.Row) (c stored, err error) { return c, r.Scan(&c.format, &c.codec, &c.packed) },
		"SELECT i.format, c.codec, c.content FROM inventories AS i JOIN inventory_contents AS c ON c.inventory_id = i.id WHERE i.id = ?", id)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("read the content of an inventory: %w", err)
	case !ok:
		return nil, "", inventories().None(id)
	}
	content, err := s.codec.Unpack(c.codec, c.packed)
	return content, c.format, err
}

// ListInventories implements catalog.InventoryStore. They are by name and id.
func (s *Store) ListInventories(ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window) ([]catalog.Inventory, int, error) {
	return inventories().List(ctx, s.d.Read(ctx), shelf.Where(visible.Those(sc, identity.KindInventory, "o.id")), f, w)
}

// UpdateInventory implements catalog.InventoryStore. Format, counts and digest are those of the content and change with it alone.
func (s *Store) UpdateInventory(ctx context.Context, i catalog.Inventory, revision int64) (catalog.Inventory, error) {
	q, err := inventories().Held(ctx, s.d, i.ID, revision)
	if err != nil {
		return catalog.Inventory{}, err
	}
	credentials, err := pack.Document(i.CredentialIDs)
	if err != nil {
		return catalog.Inventory{}, err
	}
	set, args := "credential_ids = ?, queue = ?", []any{credentials, i.Queue}
	if i.Content != nil {
		set, args = set+", "+contentSet, append(args, contentArgs(i)...)
	}
	is, err := inventories().Update(ctx, q, i.Record, set, args...)
	if err == nil && i.Content != nil {
		err = s.fill(ctx, q, i.ID, i.Content)
	}
	return is, err
}

// contentSet stores what is known of a content.
const contentSet = "format = ?, host_count = ?, group_count = ?, digest = ?"

func contentArgs(i catalog.Inventory) []any {
	return []any{string(i.Format), i.Hosts, i.Groups, i.Digest}
}

// DeleteInventory implements catalog.InventoryStore. The content and what the inventory names go with it.
func (s *Store) DeleteInventory(ctx context.Context, id string, revision int64) error {
	return inventories().Remove(ctx, s.d, id, revision)
}

// FillInventory implements catalog.InventoryStore.
func (s *Store) FillInventory(ctx context.Context, i catalog.Inventory) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	n, err := db.Exec(ctx, q, "UPDATE inventories SET revision = revision + CASE WHEN digest = ? THEN 0 ELSE 1 END, "+contentSet+" WHERE id = ?",
		append(append([]any{i.Digest}, contentArgs(i)...), i.ID)...)
	switch {
	case err != nil:
		return fmt.Errorf("fill an inventory: %w", err)
	case n == 0:
		return inventories().None(i.ID)
	}
	return s.fill(ctx, q, i.ID, i.Content)
}

func scanInventory(r db.Row) (i catalog.Inventory, err error) {
	var at shelf.Stamps
	var credentials string
	err = r.Scan(append(shelf.Targets(&i.Record, &at), &i.Format, &credentials, &i.Queue, &i.Hosts, &i.Groups, &i.Digest)...)
	if err != nil {
		return i, err
	}
	at.Set(&i.Record)
	return i, pack.Read(credentials, &i.CredentialIDs)
}
