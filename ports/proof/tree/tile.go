package tree

import (
	"strconv"
	"strings"
)

// TileWidth is the number of hashes in a full tile, and of entries in a full bundle.
const TileWidth = 1 << tileHeight

const (
	tileHeight = 8
	// maxTileLevel is the highest level of the layout; a tree of MaxSize leaves reaches level 6.
	maxTileLevel = 63
)

// Tile names the hashes of up to 256 neighbouring nodes of one tree level, which is eight times the tile's. A tile of
// fewer hashes is partial: it is the last one of its level.
type Tile struct {
	Level uint
	Index uint64
	Width int
}

// TileOf returns the tile with the hashes that make up the node in a tree of that size, and their place in the tile.
func TileOf(n Node, size uint64) (t Tile, from, to int, err error) {
	if size > MaxSize || n.Level >= levels || n.Index >= size>>n.Level {
		return Tile{}, 0, 0, refuse("tile", CodeSize)
	}
	k := n.Level % tileHeight
	t = tileAt(n.Level/tileHeight, n.Index>>(tileHeight-k), size)
	from = int(n.Index<<k) % TileWidth
	return t, from, from + 1<<k, nil
}

// tileAt returns the tile with its width in a tree of that size.
func tileAt(level uint, index, size uint64) Tile {
	count := size >> (tileHeight * level)
	return Tile{Level: level, Index: index, Width: int(min(TileWidth, count-index*TileWidth))}
}

// Full reports whether the tile is complete, so that it never changes.
func (t Tile) Full() bool { return t.Width == TileWidth }

// above returns the tile that holds the root of a full tile, and the place in it.
func (t Tile) above(size uint64) (Tile, int) {
	return tileAt(t.Level+1, t.Index/TileWidth, size), int(t.Index % TileWidth)
}

// TilesBetween returns the tiles of a tree of size to that a tree of size from lacks, each level from left to right
// and the lowest level first. The last one of a level may be partial.
func TilesBetween(from, to uint64) []Tile {
	if from > to || to > MaxSize {
		return nil
	}
	var out []Tile
	for level := uint(0); to>>(tileHeight*level) != from>>(tileHeight*level); level++ {
		before, count := from>>(tileHeight*level), to>>(tileHeight*level)
		for index := before / TileWidth; index*TileWidth < count; index++ {
			out = append(out, tileAt(level, index, to))
		}
	}
	return out
}

// Path returns the path of the tile in the layout of tlog-tiles: "tile/0/x001/234.p/5".
func (t Tile) Path() string {
	return "tile/" + strconv.FormatUint(uint64(t.Level), 10) + "/" + t.place()
}

// EntriesPath returns the path of the entries below a tile of level 0.
func (t Tile) EntriesPath() string { return "tile/entries/" + t.place() }

func (t Tile) place() string {
	digits := strconv.FormatUint(t.Index, 10)
	digits = strings.Repeat("0", (3-len(digits)%3)%3) + digits
	var b strings.Builder
	for ; len(digits) > 3; digits = digits[3:] {
		b.WriteString("x" + digits[:3] + "/")
	}
	b.WriteString(digits)
	if !t.Full() {
		b.WriteString(".p/" + strconv.Itoa(t.Width))
	}
	return b.String()
}

// ParseTile parses a path. It accepts exactly the results of Path and EntriesPath; entries reports the latter.
func ParseTile(path string) (t Tile, entries bool, err error) {
	wrong := refuse("tile", CodeFormat)
	rest, ok := strings.CutPrefix(path, "tile/")
	if !ok || len(path) > 64 {
		return Tile{}, false, wrong
	}
	kind, rest, _ := strings.Cut(rest, "/")
	t.Width = TileWidth
	if entries = kind == "entries"; !entries {
		level, err := strconv.ParseUint(kind, 10, 8)
		if err != nil || level > maxTileLevel {
			return Tile{}, false, wrong
		}
		t.Level = uint(level)
	}
	place, width, partial := strings.Cut(rest, ".p/")
	if partial {
		if t.Width, err = strconv.Atoi(width); err != nil || t.Width < 1 || t.Width >= TileWidth {
			return Tile{}, false, wrong
		}
	}
	digits := strings.NewReplacer("x", "", "/", "").Replace(place)
	if t.Index, err = strconv.ParseUint(digits, 10, 53); err != nil {
		return Tile{}, false, wrong
	}
	// Formatting the path again detects alternative spellings that the parser above accepted.
	if again := t.Path(); !entries && again != path || entries && t.EntriesPath() != path {
		return Tile{}, false, wrong
	}
	return t, entries, nil
}
