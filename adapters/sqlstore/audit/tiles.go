package audit

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
)

// tileBytes is the size of a full tile: 256 hashes.
const tileBytes = 256 * 32

type tile struct {
	bun.BaseModel `bun:"table:audit_tiles,alias:t"`
	Level         int64 `bun:",pk"`
	Place         int64 `bun:",pk"`
	Hashes        []byte
}

// PutTile needs an open unit of work. A partial tile is an Internal fault.
func (s *Store) PutTile(ctx context.Context, level, index int64, hashes []byte) error {
	if level < 0 || index < 0 || len(hashes) != tileBytes {
		return internal("tile %d of level %d has %d bytes, not %d", index, level, len(hashes), tileBytes)
	}
	row := tile{Level: level, Place: index, Hashes: hashes}
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).On("CONFLICT (level, place) DO NOTHING"))
	return db.Wrap(err, "store tile %d of level %d", index, level)
}

// A stored value of another size counts as missing.
func (s *Store) Tile(ctx context.Context, level, index int64) ([]byte, error) {
	row := tile{Level: level, Place: index}
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).WherePK())
	if err != nil {
		return nil, fmt.Errorf("read tile %d of level %d: %w", index, level, err)
	}
	if !ok || len(row.Hashes) != tileBytes {
		return nil, nil
	}
	return row.Hashes, nil
}

// Tiles after a gap do not count.
func (s *Store) TileCount(ctx context.Context, level int64) (int64, error) {
	var c struct{ N, Past int64 }
	q := s.d.Read(ctx).NewSelect().Model((*tile)(nil)).Where("t.level = ?", level)
	err := q.Clone().ColumnExpr("count(*) AS n, COALESCE(max(t.place), -1) + 1 AS past").Scan(ctx, &c)
	if err == nil && c.N != c.Past {
		// The first index without a successor, unless there is no tile 0.
		err = q.ColumnExpr("COALESCE(min(t.place) + 1, 0)").
			Where("EXISTS (SELECT 1 FROM audit_tiles AS f WHERE f.level = t.level AND f.place = 0)").
			Where("NOT EXISTS (SELECT 1 FROM audit_tiles AS n WHERE n.level = t.level AND n.place = t.place + 1)").
			Scan(ctx, &c.N)
	}
	return c.N, db.Wrap(err, "count the tiles of level %d", level)
}

// In the open unit of work.
func (s *Store) DropTiles(ctx context.Context) error {
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewDelete().Model((*tile)(nil)).Where("TRUE"))
	return db.Wrap(err, "delete the tiles")
}
