package audit

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/platform/db"
)

// tileBytes is the size of a full tile: 256 hashes.
const tileBytes = 256 * 32

// PutTile implements audit.TileStore, in the open unit of work. A tile that is not full is an Internal fault.
func (s *Store) PutTile(ctx context.Context, level, index int64, hashes []byte) error {
	if level < 0 || index < 0 || len(hashes) != tileBytes {
		return internal("tile %d of level %d has %d bytes, not %d", index, level, len(hashes), tileBytes)
	}
	if _, err := s.exec(ctx, "INSERT INTO audit_tiles (level, place, hashes) VALUES (?, ?, ?) ON CONFLICT (level, place) DO NOTHING",
		level, index, hashes); err != nil {
		return fmt.Errorf("keep tile %d of level %d: %w", index, level, err)
	}
	return nil
}

// Tile implements audit.TileStore. What is there and is no full tile is none.
func (s *Store) Tile(ctx context.Context, level, index int64) ([]byte, error) {
	hashes, ok, err := db.One(ctx, s.d.Read(ctx), func(r db.Row) (raw []byte, err error) { return raw, r.Scan(&raw) },
		"SELECT hashes FROM audit_tiles WHERE level = ? AND place = ?", level, index)
	if err != nil {
		return nil, fmt.Errorf("read tile %d of level %d: %w", index, level, err)
	}
	if !ok || len(hashes) != tileBytes {
		return nil, nil
	}
	return hashes, nil
}

// TileCount implements audit.TileStore. Where tiles are missing in the middle, those behind do not count.
func (s *Store) TileCount(ctx context.Context, level int64) (int64, error) {
	type counted struct{ n, end int64 }
	q := s.d.Read(ctx)
	c, _, err := db.One(ctx, q, func(r db.Row) (c counted, err error) { return c, r.Scan(&c.n, &c.end) },
		"SELECT count(*), COALESCE(max(place), -1) + 1 FROM audit_tiles WHERE level = ?", level)
	if err == nil && c.n != c.end {
		// The first place that has no successor, unless there is no tile 0.
		c.n, _, err = db.One(ctx, q, number, "SELECT COALESCE(min(t.place) + 1, 0) FROM audit_tiles AS t WHERE t.level = ? "+
			"AND EXISTS (SELECT 1 FROM audit_tiles AS f WHERE f.level = t.level AND f.place = 0) "+
			"AND NOT EXISTS (SELECT 1 FROM audit_tiles AS n WHERE n.level = t.level AND n.place = t.place + 1)", level)
	}
	if err != nil {
		return 0, fmt.Errorf("count the tiles of level %d: %w", level, err)
	}
	return c.n, nil
}

// DropTiles implements audit.TileStore, in the open unit of work.
func (s *Store) DropTiles(ctx context.Context) error {
	if _, err := s.exec(ctx, "DELETE FROM audit_tiles"); err != nil {
		return fmt.Errorf("drop the tiles: %w", err)
	}
	return nil
}
