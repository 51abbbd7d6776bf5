package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

func TestBaseRoots(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "base.json"))
	if err != nil {
		t.Fatal(err)
	}
	var base struct {
		Leaves []struct{ Leaf string }
		Roots  []struct {
			Size uint64
			Root text
		}
	}
	if err := json.Unmarshal(b, &base); err != nil || len(base.Roots) != 3 {
		t.Fatal(err, len(base.Roots))
	}
	var r Range
	for i, l := range base.Leaves {
		r.Append(sha256.Sum256(append([]byte{0}, l.Leaf...)))
		if want := base.Roots[i]; r.Size() != want.Size || r.Root() != want.Root.hash(t) {
			t.Errorf("size %d has the root %x", r.Size(), r.Root())
		}
	}
}

func TestRangeVectors(t *testing.T) {
	t.Parallel()
	f := vectors(t)
	var r Range
	for _, v := range f.Sizes {
		for r.Size() < v.Size {
			r.Append(leafHash(r.Size()))
		}
		if r.Root() != v.Root.hash(t) {
			t.Errorf("size %d has the root %x", v.Size, r.Root())
		}
		b, err := r.MarshalBinary()
		if err != nil || !bytes.Equal(b, v.Range) {
			t.Errorf("size %d is stored as %x, %v", v.Size, b, err)
		}
		var back Range
		if err := back.UnmarshalBinary(v.Range); err != nil || back != r {
			t.Errorf("size %d: %v", v.Size, err)
		}
	}
	before := r
	for _, v := range f.RangesInvalid {
		if err := r.UnmarshalBinary(v.Range); code(err) != v.Code || r != before {
			t.Errorf("%s: %v, want %s", v.Case, err, v.Code)
		}
	}
}

func TestProofVectors(t *testing.T) {
	t.Parallel()
	f := vectors(t)
	all := grow(70000)
	codes := make(map[string]int)
	for _, v := range f.Inclusion {
		err := VerifyInclusion(v.Leaf.hash(t), v.Index, v.Size, hashes(t, v.Proof), v.Root.hash(t))
		if code(err) != v.Code || (err == nil) != (v.Code == "") {
			t.Errorf("%s: %v, want %q", v.Case, err, v.Code)
		}
		codes[v.Code]++
		if v.Code == "" {
			path, err := Inclusion(context.Background(), all, v.Index, v.Size)
			if err != nil || !equal(path, hashes(t, v.Proof)) {
				t.Errorf("%s: proof %x, %v", v.Case, path, err)
			}
		}
	}
	for _, v := range f.Consistency {
		err := VerifyConsistency(v.From, v.To, v.FromRoot.hash(t), v.ToRoot.hash(t), hashes(t, v.Proof))
		if code(err) != v.Code || (err == nil) != (v.Code == "") {
			t.Errorf("%s: %v, want %q", v.Case, err, v.Code)
		}
		codes[v.Code]++
		if v.Code == "" {
			path, err := Consistency(context.Background(), all, v.From, v.To)
			if err != nil || !equal(path, hashes(t, v.Proof)) {
				t.Errorf("%s: proof %x, %v", v.Case, path, err)
			}
		}
	}
	for _, c := range []Code{"", CodeSize, CodeLength, CodeRoot} {
		if codes[string(c)] < 5 {
			t.Errorf("%d vectors of %q", codes[string(c)], c)
		}
	}
}

func equal(a, b []Hash) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestTileVectors(t *testing.T) {
	t.Parallel()
	f := vectors(t)
	all := grow(70000)
	for _, v := range f.Tiles {
		for _, x := range v.Tiles {
			tile, entries, err := ParseTile(x.Path)
			if err != nil || entries {
				t.Fatal(x.Path, err)
			}
			read, err := all.ReadTiles(context.Background(), []Tile{tile})
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(read[0]); hex.EncodeToString(sum[:]) != x.SHA256 ||
				tileAt(tile.Level, tile.Index, v.Size) != tile {
				t.Errorf("%s of %d: %x", x.Path, v.Size, sum)
			}
			if x.Entries == "" {
				continue
			}
			var bundle []byte
			for i := range uint64(tile.Width) {
				if bundle, err = AppendEntry(bundle, strconv.AppendUint(nil, tile.Index*TileWidth+i, 10)); err != nil {
					t.Fatal(err)
				}
			}
			if sum := sha256.Sum256(bundle); tile.EntriesPath() != x.Entries || hex.EncodeToString(sum[:]) != x.EntriesSHA256 {
				t.Errorf("%s of %d: %x", x.Entries, v.Size, sum)
			}
		}
	}
	for _, v := range f.Paths {
		tile, entries, err := ParseTile(v.Path)
		if err != nil || entries != v.Entries || tile != (Tile{v.Level, v.Index, v.Width}) {
			t.Errorf("%s: %v, %v", v.Path, tile, err)
		}
	}
	for _, path := range f.PathsInvalid {
		if tile, _, err := ParseTile(path); code(err) != string(CodeFormat) {
			t.Errorf("%s was read as %v, %v", path, tile, err)
		}
	}
}

// logged is the log of the checksum database's library over the same leaves.
type logged []tlog.Hash

func (l logged) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, n := range at {
		out[i] = l[n]
	}
	return out, nil
}

func same(a []Hash, b []tlog.Hash) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != Hash(b[i]) {
			return false
		}
	}
	return true
}

// TestAnotherLibraryAgrees compares roots, proofs, tiles and their names.
func TestAnotherLibraryAgrees(t *testing.T) {
	t.Parallel()
	const all = 66000
	ctx, ours, theirs := context.Background(), grow(all), logged{}
	for i := range int64(all) {
		hashes, err := tlog.StoredHashes(i, strconv.AppendInt(nil, i, 10), theirs)
		if err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, hashes...)
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, all).Draw(t, "size")
		from, index := rapid.Int64Range(1, size).Draw(t, "from"), rapid.Int64Range(0, size-1).Draw(t, "index")
		edge, err1 := Resume(ctx, ours, uint64(size))
		top, err2 := tlog.TreeHash(size, theirs)
		if err1 != nil || err2 != nil || edge.Root() != Hash(top) {
			t.Fatal("roots differ", err1, err2)
		}
		path, err1 := Inclusion(ctx, ours, uint64(index), uint64(size))
		record, err2 := tlog.ProveRecord(size, index, theirs)
		if err1 != nil || err2 != nil || !same(path, record) {
			t.Fatal("inclusion proofs differ", err1, err2)
		}
		path, err1 = Consistency(ctx, ours, uint64(from), uint64(size))
		tree, err2 := tlog.ProveTree(size, from, theirs)
		if err1 != nil || err2 != nil || !same(path, tree) {
			t.Fatal("consistency proofs differ", err1, err2)
		}
		made := tlog.NewTiles(tileHeight, from, size)
		tiles := TilesBetween(uint64(from), uint64(size))
		if len(made) != len(tiles) {
			t.Fatalf("%d tiles and %d", len(tiles), len(made))
		}
		read, err := ours.ReadTiles(ctx, tiles)
		if err != nil {
			t.Fatal(err)
		}
		for i, tile := range tiles {
			data, err := tlog.ReadTileData(made[i], theirs)
			if err != nil || !bytes.Equal(data, read[i]) ||
				strings.Replace(made[i].Path(), "tile/8/", "tile/", 1) != tile.Path() {
				t.Fatalf("%s and %s differ: %v", tile.Path(), made[i].Path(), err)
			}
		}
	})
}
