package tree

import "encoding/binary"

// MaxEntry bounds an entry of a bundle: its length takes two bytes.
const MaxEntry = 1<<16 - 1

// AppendEntry appends an entry to a bundle: its length in two bytes, big-endian, and the entry.
func AppendEntry(b, entry []byte) ([]byte, error) {
	if len(entry) > MaxEntry {
		return b, refuse("entries", CodeSize)
	}
	return append(binary.BigEndian.AppendUint16(b, uint16(len(entry))), entry...), nil
}

// Entries returns the entries of the bundle below a tile of level 0. Their number has to equal the width of the tile,
// without trailing bytes. They share the memory of b.
func (t Tile) Entries(b []byte) ([][]byte, error) {
	if t.Level != 0 || t.Width < 1 || t.Width > TileWidth {
		return nil, refuse("entries", CodeFormat)
	}
	out := make([][]byte, 0, t.Width)
	for len(out) < t.Width {
		if len(b) < 2 {
			return nil, refuse("entries", CodeFormat)
		}
		n := int(binary.BigEndian.Uint16(b))
		if b = b[2:]; len(b) < n {
			return nil, refuse("entries", CodeFormat)
		}
		out, b = append(out, b[:n:n]), b[n:]
	}
	if len(b) > 0 {
		return nil, refuse("entries", CodeFormat)
	}
	return out, nil
}
