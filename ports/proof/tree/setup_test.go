package tree

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// nodes is a Source of every complete subtree, and a TileReader.
type nodes struct {
	hash     map[Node]Hash
	frontier Range
	read     int // tiles that were asked for
}

func grow(size uint64) *nodes {
	n := &nodes{hash: make(map[Node]Hash, 2*size)}
	for i := range size {
		n.frontier.AppendVisit(leafHash(i), func(id Node, h Hash) { n.hash[id] = h })
	}
	return n
}

func leafHash(i uint64) Hash {
	return sha256.Sum256(append([]byte{0}, strconv.FormatUint(i, 10)...))
}

func (n *nodes) Hashes(_ context.Context, ids []Node) ([]Hash, error) {
	out := make([]Hash, len(ids))
	for i, id := range ids {
		h, ok := n.hash[id]
		if !ok {
			return nil, fmt.Errorf("no node %v", id)
		}
		out[i] = h
	}
	return out, nil
}

func (n *nodes) ReadTiles(_ context.Context, tiles []Tile) ([][]byte, error) {
	n.read += len(tiles)
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		for j := range uint64(t.Width) {
			h, ok := n.hash[Node{Level: t.Level * tileHeight, Index: t.Index*TileWidth + j}]
			if !ok {
				return nil, fmt.Errorf("no tile %s", t.Path())
			}
			out[i] = append(out[i], h[:]...)
		}
	}
	return out, nil
}

// root computes the root of leaves from..to as RFC 6962 defines it, which shares nothing with what is tested.
func root(from, to uint64) Hash {
	n := to - from
	switch n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leafHash(from)
	}
	k := uint64(1)
	for 2*k < n {
		k *= 2
	}
	left, right := root(from, from+k), root(from+k, to)
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

func code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	return ""
}

type text []byte

func (b text) hash(t testing.TB) Hash {
	t.Helper()
	if len(b) != 32 {
		t.Fatalf("%d bytes are no hash", len(b))
	}
	return Hash(b)
}

func hashes(t testing.TB, list []text) []Hash {
	t.Helper()
	out := make([]Hash, len(list))
	for i, b := range list {
		out[i] = b.hash(t)
	}
	return out
}

type file struct {
	Sizes []struct {
		Size        uint64
		Root, Range text
	}
	RangesInvalid []struct {
		Case  string
		Range text
		Code  string
	} `json:"ranges_invalid"`
	Inclusion []struct {
		Case        string
		Index, Size uint64
		Leaf, Root  text
		Proof       []text
		Code        string
	}
	Consistency []struct {
		Case     string
		From, To uint64
		FromRoot text `json:"from_root"`
		ToRoot   text `json:"to_root"`
		Proof    []text
		Code     string
	}
	Tiles []struct {
		Size  uint64
		Tiles []struct {
			Path, SHA256, Entries string
			EntriesSHA256         string `json:"entries_sha256"`
		}
	}
	Paths []struct {
		Path    string
		Level   uint
		Index   uint64
		Width   int
		Entries bool
	}
	PathsInvalid []string `json:"paths_invalid"`
}

func vectors(t testing.TB) file {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "tree.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Sizes) == 0 || len(f.Inclusion) == 0 || len(f.Consistency) == 0 || len(f.Tiles) == 0 {
		t.Fatal("the vectors are not there")
	}
	return f
}
