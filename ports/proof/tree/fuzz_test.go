package tree

import (
	"bytes"
	"testing"
)

func FuzzRange(f *testing.F) {
	all := vectors(f)
	for _, v := range all.Sizes {
		f.Add([]byte(v.Range))
	}
	for _, v := range all.RangesInvalid {
		f.Add([]byte(v.Range))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Range
		if err := r.UnmarshalBinary(b); err != nil {
			if code(err) == "" || r != (Range{}) {
				t.Fatal(err)
			}
			return
		}
		if again, err := r.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x is stored as %x, %v", b, again, err)
		}
		size, before := r.Size(), r.Root()
		r.Append(leafHash(0))
		if r.Size() != size+1 || r.Root() == before {
			t.Fatal("the range did not grow")
		}
	})
}

func FuzzParseTile(f *testing.F) {
	all := vectors(f)
	for _, v := range all.Paths {
		f.Add(v.Path)
	}
	for _, path := range all.PathsInvalid {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		tile, entries, err := ParseTile(path)
		if err != nil {
			return
		}
		if again := tile.Path(); !entries && again != path || entries && tile.EntriesPath() != path {
			t.Fatalf("%q is %v", path, tile)
		}
	})
}

// FuzzProofs gives the verifiers proofs of any length for any index and size.
func FuzzProofs(f *testing.F) {
	f.Add(uint64(3), uint64(7), []byte("proof"))
	f.Add(uint64(0), uint64(MaxSize), bytes.Repeat([]byte{1}, 32*53))
	f.Fuzz(func(t *testing.T, a, b uint64, path []byte) {
		var hashes []Hash
		for ; len(path) >= 32; path = path[32:] {
			hashes = append(hashes, Hash(path))
		}
		leaf, top := leafHash(a), leafHash(b)
		if err := VerifyInclusion(leaf, a, b, hashes, top); err == nil || code(err) == "" {
			t.Fatalf("%d of %d: %v", a, b, err)
		}
		err := VerifyConsistency(a, b, leaf, top, hashes)
		if err == nil && leaf != top || err != nil && code(err) == "" {
			t.Fatalf("%d to %d: %v", a, b, err)
		}
	})
}
