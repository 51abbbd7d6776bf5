package audittest

import (
	"bytes"
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func tileCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"kept and dropped":    tileKept,
		"counted from 0 on":   tileCount,
		"what no tile is":     tileBad,
		"the same tile twice": tileRace,
	}
}

func tile(b byte) []byte { return bytes.Repeat([]byte{b, 0, '\'', 0xff}, 2048) }

func (e *env) putTile(t *testing.T, level, index int64, hashes []byte) {
	t.Helper()
	e.must(t, func(ctx context.Context) error { return e.Tiles.PutTile(ctx, level, index, hashes) })
}

func (e *env) tile(t *testing.T, level, index int64) []byte {
	t.Helper()
	got, err := e.Tiles.Tile(t.Context(), level, index)
	if err != nil {
		t.Fatalf("tile %d of %d: %v", index, level, err)
	}
	return got
}

func (e *env) tiles(t *testing.T, level, want int64) {
	t.Helper()
	if n, err := e.Tiles.TileCount(t.Context(), level); n != want || err != nil {
		t.Errorf("level %d has %d tiles, want %d: %v", level, n, want, err)
	}
}

func tileKept(t *testing.T, e *env) {
	if got := e.tile(t, 0, 0); got != nil {
		t.Errorf("a tile of %d bytes is there", len(got))
	}
	e.putTile(t, 0, 0, tile(1))
	e.putTile(t, 0, 1, tile(2))
	e.putTile(t, 1, 0, tile(3))
	e.putTile(t, 0, 0, tile(9)) // exists already
	for i, at := range [][2]int64{{0, 0}, {0, 1}, {1, 0}} {
		if got := e.tile(t, at[0], at[1]); !bytes.Equal(got, tile(byte(i+1))) {
			t.Errorf("tile %d of %d is %.8x", at[1], at[0], got)
		}
	}
	if got := e.tile(t, 1, 1); got != nil {
		t.Errorf("a tile of %d bytes is there", len(got))
	}
	for range 2 {
		e.must(t, func(ctx context.Context) error { return e.Tiles.DropTiles(ctx) })
		e.tiles(t, 0, 0)
	}
	e.putTile(t, 0, 0, tile(7))
	if got := e.tile(t, 0, 0); !bytes.Equal(got, tile(7)) {
		t.Errorf("the tile is %.8x", got)
	}
}

func tileCount(t *testing.T, e *env) {
	e.tiles(t, 0, 0)
	for _, step := range []struct{ index, want int64 }{{1, 0}, {2, 0}, {0, 3}, {5, 3}, {4, 3}, {3, 6}, {3, 6}} {
		e.putTile(t, 2, step.index, tile(1))
		e.tiles(t, 2, step.want)
	}
	e.tiles(t, 1, 0)
	e.tiles(t, 3, 0)
}

func tileBad(t *testing.T, e *env) {
	for name, put := range map[string]func(ctx context.Context) error{
		"empty":            func(ctx context.Context) error { return e.Tiles.PutTile(ctx, 0, 0, nil) },
		"not full":         func(ctx context.Context) error { return e.Tiles.PutTile(ctx, 0, 0, tile(1)[32:]) },
		"a negative level": func(ctx context.Context) error { return e.Tiles.PutTile(ctx, -1, 0, tile(1)) },
		"a negative index": func(ctx context.Context) error { return e.Tiles.PutTile(ctx, 0, -1, tile(1)) },
	} {
		refused(t, name, e.do(t, put), fault.Internal)
	}
	refused(t, "put outside of a unit", e.Tiles.PutTile(t.Context(), 0, 0, tile(1)), fault.Internal)
	refused(t, "drop outside of a unit", e.Tiles.DropTiles(t.Context()), fault.Internal)
	e.tiles(t, 0, 0)
}

func tileRace(t *testing.T, e *env) {
	txtest.Together(8, func(int) {
		if err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
			for i := range int64(5) {
				if err := e.Tiles.PutTile(ctx, 0, i, tile(byte(i))); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Errorf("keep: %v", err)
		}
	})
	e.tiles(t, 0, 5)
}
