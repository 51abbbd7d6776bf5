package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
)

type version struct {
	bun.BaseModel `bun:"table:inventory_versions,alias:v"`
	InventoryID   string `bun:",pk"`
	Number        int64  `bun:",pk"`
	At            time.Time
	ActorType     actor.Type
	ActorID       string
	ActorName     string
	How           catalog.How
	SourceID      string
	Format        catalog.Format
	Digest        string
	Hosts         int `bun:"host_count"`
	Groups        int `bun:"group_count"`
	Codec         int
	Content       []byte
	Size          int64 `bun:",scanonly"`
}

func (v *version) object() catalog.InventoryVersion {
	return catalog.InventoryVersion{
		Number: v.Number, At: v.At, By: actor.Actor{Type: v.ActorType, ID: v.ActorID, Name: v.ActorName}, How: v.How,
		SourceID: v.SourceID, Format: v.Format, Hosts: v.Hosts, Groups: v.Groups, Digest: v.Digest,
	}
}

// The content is copied as it is stored: it is compressed once. The change of the inventory has locked its row,
// so no other unit takes the number. Of two units that keep an earlier content, one does.
func (s *Store) KeepVersion(ctx context.Context, inventoryID string, v catalog.InventoryVersion) error {
	q := s.d.InUnit(ctx)
	last := q.NewSelect().TableExpr("inventory_versions AS m").ColumnExpr("COALESCE(MAX(m.number), 0)").
		Where("m.inventory_id = o.id")
	newest := q.NewSelect().Model((*version)(nil)).ColumnExpr("1").Where("v.inventory_id = o.id")
	if v.How != catalog.Earlier {
		newest.Where("v.number = (?)", last).Where("v.digest = o.digest AND v.format = o.format")
	}
	row := version{
		InventoryID: inventoryID, At: v.At, ActorType: v.By.Type, ActorID: v.By.ID, ActorName: v.By.Name, How: v.How,
		SourceID: v.SourceID,
	}
	ok, err := db.First(ctx, q.NewSelect().Model((*inventory)(nil)).ColumnExpr("(?) + 1 AS number", last).
		Column("format", "digest", "host_count", "group_count").ColumnExpr("c.codec, c.content").
		Join("JOIN inventory_contents AS c ON c.inventory_id = o.id").
		Where("o.id = ?", inventoryID).Where("NOT EXISTS (?)", newest), &row)
	if err != nil || !ok {
		return db.Wrap(err, "read the content of an inventory")
	}
	if _, err := db.Modify(ctx, q.NewInsert().Model(&row).On("CONFLICT DO NOTHING")); err != nil {
		return fmt.Errorf("keep a version of an inventory: %w", err)
	}
	if v.How == catalog.Earlier { // it is the only one
		return nil
	}
	return s.forgetVersions(ctx, inventoryID)
}

// forgetVersions deletes the versions of an inventory beyond the bounds.
func (s *Store) forgetVersions(ctx context.Context, inventoryID string) error {
	q := s.d.InUnit(ctx)
	var rows []version
	err := q.NewSelect().Model(&rows).ColumnExpr("v.number, LENGTH(v.content) AS size").
		Where("v.inventory_id = ?", inventoryID).OrderExpr("v.number DESC").Scan(ctx)
	if err != nil {
		return db.Wrap(err, "measure the versions of an inventory")
	}
	size := int64(0)
	for i, row := range rows {
		if size += row.Size; i < catalog.KeptVersions && (i < 2 || size <= catalog.KeptVersionBytes) {
			continue
		}
		_, err := db.Modify(ctx, q.NewDelete().Model((*version)(nil)).
			Where("inventory_id = ? AND number <= ?", inventoryID, row.Number))
		return db.Wrap(err, "delete old versions of an inventory")
	}
	return nil
}

func (s *Store) InventoryVersions(
	ctx context.Context, inventoryID string, w page.Window,
) ([]catalog.InventoryVersion, int, error) {
	var rows []version
	q := s.d.Read(ctx)
	total, err := q.NewSelect().Model((*version)(nil)).Where("v.inventory_id = ?", inventoryID).Count(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("count the versions of an inventory: %w", err)
	}
	err = q.NewSelect().Model(&rows).ExcludeColumn("content", "codec").Where("v.inventory_id = ?", inventoryID).
		OrderExpr("v.number DESC").Limit(int64(w.Rows())).Offset(int64(w.Offset)).Scan(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list the versions of an inventory: %w", err)
	}
	out := make([]catalog.InventoryVersion, len(rows))
	for i := range rows {
		out[i] = rows[i].object()
	}
	return out, int(total), nil
}

func (s *Store) InventoryVersion(
	ctx context.Context, inventoryID string, number int64,
) (catalog.InventoryVersion, error) {
	row := version{InventoryID: inventoryID, Number: number}
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).WherePK())
	switch {
	case err != nil:
		return catalog.InventoryVersion{}, fmt.Errorf("read a version of an inventory: %w", err)
	case !ok:
		return catalog.InventoryVersion{}, catalog.VersionNotFound.New("the inventory has no version %d, or none any more",
			number)
	}
	v := row.object()
	v.Content, err = s.codec.Unpack(row.Codec, row.Content)
	return v, err
}
