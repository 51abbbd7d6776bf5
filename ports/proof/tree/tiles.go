package tree

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// TileReader reads stored tiles.
type TileReader interface {
	// ReadTiles returns the hashes of each tile, in the order of the tiles. For a longer version of a partial tile the
	// reader returns the prefix. A missing tile is an error.
	ReadTiles(ctx context.Context, tiles []Tile) ([][]byte, error)
}

// Tiles is a Source that verifies everything it reads: every tile is checked against the root. It caches the tiles,
// and is not safe for concurrent use.
type Tiles struct {
	size   uint64
	reader TileReader
	known  map[Tile][]Hash
}

// OpenTiles reads the right edge of the tree and checks it against the root.
func OpenTiles(ctx context.Context, reader TileReader, size uint64, root Hash) (*Tiles, error) {
	if size > MaxSize {
		return nil, refuse("tile", CodeSize)
	}
	t := &Tiles{size: size, reader: reader, known: make(map[Tile][]Hash)}
	var edge []Tile
	for level := uint(0); size>>(tileHeight*level) != 0; level++ {
		if last := tileAt(level, size>>(tileHeight*level)/TileWidth, size); last.Width > 0 {
			edge = append(edge, last)
		}
	}
	read, err := t.read(ctx, edge)
	if err != nil {
		return nil, err
	}
	// The root is computed from all hashes of all partial tiles, so it authenticates each of them.
	r := Range{size: size}
	for i, tile := range edge {
		hashes := read[i]
		for bit := tileHeight - 1; bit >= 0; bit-- {
			if tile.Width>>bit&1 == 1 {
				r.node[int(tile.Level)*tileHeight+bit] = fold(hashes[:1<<bit])
				hashes = hashes[1<<bit:]
			}
		}
		t.known[tile] = read[i]
	}
	if r.Root() != root {
		return nil, refuse("tile", CodeRoot)
	}
	return t, nil
}

// Hashes returns the hashes of complete subtrees of the tree.
func (t *Tiles) Hashes(ctx context.Context, nodes []Node) ([]Hash, error) {
	var missing []Tile
	wanted := make(map[Tile]bool)
	for _, n := range nodes {
		tile, _, _, err := TileOf(n, t.size)
		if err != nil {
			return nil, err
		}
		// The tile above authenticates each full tile. The partial ones were read at the start.
		for t.known[tile] == nil && !wanted[tile] {
			missing, wanted[tile] = append(missing, tile), true
			tile, _ = tile.above(t.size)
		}
	}
	if err := t.learn(ctx, missing); err != nil {
		return nil, err
	}
	out := make([]Hash, len(nodes))
	for i, n := range nodes {
		tile, from, to, err := TileOf(n, t.size)
		if err != nil {
			return nil, err
		}
		out[i] = fold(t.known[tile][from:to])
	}
	return out, nil
}

// learn reads full tiles and checks each, from the top downwards.
func (t *Tiles) learn(ctx context.Context, tiles []Tile) error {
	slices.SortFunc(tiles, func(a, b Tile) int { return -cmp.Compare(a.Level, b.Level) })
	read, err := t.read(ctx, tiles)
	if err != nil {
		return err
	}
	for i, tile := range tiles {
		above, at := tile.above(t.size)
		if fold(read[i]) != t.known[above][at] {
			return refuse("tile", CodeRoot)
		}
		t.known[tile] = read[i]
	}
	return nil
}

func (t *Tiles) read(ctx context.Context, tiles []Tile) ([][]Hash, error) {
	if len(tiles) == 0 {
		return nil, nil
	}
	read, err := t.reader.ReadTiles(ctx, tiles)
	if err != nil {
		return nil, fmt.Errorf("tree: tiles: %w", err)
	}
	if len(read) != len(tiles) {
		return nil, fmt.Errorf("tree: asked for %d tiles and got %d", len(tiles), len(read))
	}
	out := make([][]Hash, len(tiles))
	for i, b := range read {
		if out[i], err = tiles[i].Parse(b); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Parse returns the hashes of a tile. Their number has to equal its width.
func (t Tile) Parse(b []byte) ([]Hash, error) {
	if t.Width < 1 || t.Width > TileWidth || len(b) != t.Width*len(Hash{}) {
		return nil, refuse("tile", CodeFormat)
	}
	out := make([]Hash, t.Width)
	for i := range out {
		b = b[copy(out[i][:], b):]
	}
	return out, nil
}

// Verify checks a tile against the hash of the subtree over its nodes. For a partial tile that is the hash over the
// present nodes.
func (t Tile) Verify(b []byte, top Hash) error {
	hashes, err := t.Parse(b)
	if err != nil {
		return err
	}
	if fold(hashes) != top {
		return refuse("tile", CodeRoot)
	}
	return nil
}

// fold returns the root over the hashes, treated as leaves.
func fold(hashes []Hash) Hash {
	var r Range
	for _, h := range hashes {
		r.Append(h)
	}
	return r.Root()
}
