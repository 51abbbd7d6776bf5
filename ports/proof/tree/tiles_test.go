package tree

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTilesProveAsTheNodesDo(t *testing.T) {
	t.Parallel()
	ctx, all := context.Background(), grow(70000)
	for _, size := range []uint64{1, 2, 255, 256, 257, 511, 512, 65535, 65536, 65537, 70000} {
		edge, err := Resume(ctx, all, size)
		if err != nil {
			t.Fatal(err)
		}
		tiles, err := OpenTiles(ctx, all, size, edge.Root())
		if err != nil {
			t.Fatalf("%d: %v", size, err)
		}
		if again, err := Resume(ctx, tiles, size); err != nil || again != edge {
			t.Errorf("%d: the right edge is another one, %v", size, err)
		}
		for _, index := range []uint64{0, 1, size / 3, size / 2, size - 1} {
			if index >= size {
				continue
			}
			want, err1 := Inclusion(ctx, all, index, size)
			got, err2 := Inclusion(ctx, tiles, index, size)
			if err1 != nil || err2 != nil || !equal(want, got) {
				t.Errorf("inclusion of %d in %d: %v, %v", index, size, err1, err2)
			}
			want, err1 = Consistency(ctx, all, index, size)
			got, err2 = Consistency(ctx, tiles, index, size)
			if err1 != nil || err2 != nil || !equal(want, got) {
				t.Errorf("consistency of %d and %d: %v, %v", index, size, err1, err2)
			}
		}
		if _, err := tiles.Hashes(ctx, []Node{{Index: size}}); code(err) != string(CodeSize) {
			t.Errorf("a leaf beyond %d: %v", size, err)
		}
	}
	if _, err := OpenTiles(ctx, all, 0, EmptyRoot()); err != nil {
		t.Error(err)
	}
	if _, err := OpenTiles(ctx, all, 0, Hash{}); code(err) != string(CodeRoot) {
		t.Error(err)
	}
	if _, err := OpenTiles(ctx, all, MaxSize+1, Hash{}); code(err) != string(CodeSize) {
		t.Error(err)
	}
}

func TestTilesAreReadOnce(t *testing.T) {
	t.Parallel()
	ctx, all := context.Background(), grow(70000)
	tiles, err := OpenTiles(ctx, all, 70000, all.frontier.Root())
	if err != nil {
		t.Fatal(err)
	}
	for index := uint64(1000); index < 1500; index++ {
		if _, err := Inclusion(ctx, tiles, index, 70000); err != nil {
			t.Fatal(err)
		}
	}
	// The right edge, one full tile above and the three of level 0 that hold these leaves.
	if all.read != 3+1+3 {
		t.Errorf("%d tiles were read", all.read)
	}
}

// altered returns one tile with one flipped bit.
type altered struct {
	*nodes
	tile Tile
	bit  int
}

func (a altered) ReadTiles(ctx context.Context, tiles []Tile) ([][]byte, error) {
	out, err := a.nodes.ReadTiles(ctx, tiles)
	for i, t := range tiles {
		if t == a.tile && err == nil {
			out[i][a.bit/8] ^= 1 << (a.bit % 8)
		}
	}
	return out, err
}

func TestAlteredTilesAreRefused(t *testing.T) {
	t.Parallel()
	ctx, all := context.Background(), grow(66000)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(1, 66000).Draw(t, "size")
		edge, err := Resume(ctx, all, size)
		if err != nil {
			t.Fatal(err)
		}
		tile := rapid.SampledFrom(TilesBetween(0, size)).Draw(t, "tile")
		bit := rapid.IntRange(0, tile.Width*256-1).Draw(t, "bit")
		source := altered{&nodes{hash: all.hash}, tile, bit}
		tiles, err := OpenTiles(ctx, source, size, edge.Root())
		if !tile.Full() {
			if code(err) != string(CodeRoot) {
				t.Fatalf("%s of the right edge: %v", tile.Path(), err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		node := Node{Level: tile.Level * tileHeight, Index: tile.Index * TileWidth}
		if _, err := tiles.Hashes(ctx, []Node{node}); code(err) != string(CodeRoot) {
			t.Fatalf("%s: %v", tile.Path(), err)
		}
		if _, err := tiles.Hashes(ctx, []Node{node}); code(err) != string(CodeRoot) {
			t.Fatalf("%s was kept: %v", tile.Path(), err)
		}
		read, err := source.ReadTiles(ctx, []Tile{tile})
		if err != nil {
			t.Fatal(err)
		}
		top := all.hash[Node{Level: (tile.Level + 1) * tileHeight, Index: tile.Index}]
		if err := tile.Verify(read[0], top); code(err) != string(CodeRoot) {
			t.Fatal(err)
		}
		read[0][bit/8] ^= 1 << (bit % 8)
		if err := tile.Verify(read[0], top); err != nil {
			t.Fatal(err)
		}
		if err := tile.Verify(read[0][1:], top); code(err) != string(CodeFormat) {
			t.Fatal(err)
		}
	})
}

func TestTilesBetweenAreWhatGrowingChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.Uint64Range(0, 200000).Draw(t, "to")
		from := rapid.Uint64Range(0, to).Draw(t, "from")
		before, after := make(map[Tile]bool), make(map[Tile]bool)
		for _, tile := range TilesBetween(0, from) {
			before[tile] = true
		}
		hashes := uint64(0)
		for _, tile := range TilesBetween(0, to) {
			after[tile] = true
			if tile.Level == 0 {
				hashes += uint64(tile.Width)
			}
		}
		if hashes != to {
			t.Fatalf("%d leaves are in tiles of %d", to, hashes)
		}
		changed := TilesBetween(from, to)
		for _, tile := range changed {
			if before[tile] || !after[tile] {
				t.Fatalf("%s from %d to %d", tile.Path(), from, to)
			}
			delete(after, tile)
			if back, entries, err := ParseTile(tile.Path()); err != nil || entries || back != tile {
				t.Fatalf("%s is read as %v, %v", tile.Path(), back, err)
			}
			if tile.Level == 0 {
				if back, entries, err := ParseTile(tile.EntriesPath()); err != nil || !entries || back != tile {
					t.Fatalf("%s is read as %v, %v", tile.EntriesPath(), back, err)
				}
			}
		}
		for tile := range after {
			if !before[tile] {
				t.Fatalf("%s is missing from %d to %d", tile.Path(), from, to)
			}
		}
	})
	if TilesBetween(2, 1) != nil || TilesBetween(0, MaxSize+1) != nil {
		t.Error("tiles of no tree")
	}
}

func TestReadersThatFail(t *testing.T) {
	t.Parallel()
	ctx, all := context.Background(), grow(600)
	gone := errors.New("gone")
	for _, answer := range []tileRead{{nil, gone}, {nil, nil}, {[][]byte{{1}, {2}}, nil}} {
		if _, err := OpenTiles(ctx, answer, 600, all.frontier.Root()); err == nil ||
			answer.err != nil && !errors.Is(err, gone) {
			t.Errorf("%v", err)
		}
	}
	tiles, err := OpenTiles(ctx, all, 600, all.frontier.Root())
	if err != nil {
		t.Fatal(err)
	}
	tiles.reader = tileRead{nil, gone}
	if _, err := Inclusion(ctx, tiles, 0, 600); !errors.Is(err, gone) {
		t.Error(err)
	}
}

type tileRead struct {
	tiles [][]byte
	err   error
}

func (r tileRead) ReadTiles(context.Context, []Tile) ([][]byte, error) { return r.tiles, r.err }

func TestEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 50), 1, TileWidth).Draw(t, "entries")
		tile := Tile{Width: len(entries)}
		var b []byte
		var err error
		for _, e := range entries {
			if b, err = AppendEntry(b, e); err != nil {
				t.Fatal(err)
			}
		}
		back, err := tile.Entries(b)
		if err != nil || len(back) != len(entries) {
			t.Fatal(len(back), err)
		}
		for i := range back {
			if string(back[i]) != string(entries[i]) || cap(back[i]) != len(back[i]) {
				t.Fatalf("entry %d is %x", i, back[i])
			}
		}
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		for _, wrong := range []error{
			second(tile.Entries(b[:cut])), second(tile.Entries(append(b, 0))),
			second(Tile{Width: tile.Width, Level: 1}.Entries(b)),
			second(Tile{Width: tile.Width + 1}.Entries(b)), second(Tile{}.Entries(nil)),
		} {
			if code(wrong) != string(CodeFormat) {
				t.Fatal(wrong)
			}
		}
	})
	if b, err := AppendEntry(nil, []byte(strings.Repeat("x", MaxEntry+1))); code(err) != string(CodeSize) || b != nil {
		t.Error(err)
	}
}
