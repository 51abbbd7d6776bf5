package treelog_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// log is an in-memory chain with its tiles.
type log struct {
	audit.ChainReader
	audit.TileStore
	entries []audit.Stored
	roots   []tree.Hash // by size

	mu    sync.Mutex
	tiles map[[2]int64][]byte
	reads atomic.Int64 // entries that were read
}

func newLog(n int) *log {
	l := &log{tiles: make(map[[2]int64][]byte), roots: []tree.Hash{tree.EmptyRoot()}}
	var r tree.Range
	for i := range n {
		text := fmt.Sprint("entry ", i)
		hash := leaf.Hash([]byte(text))
		l.entries = append(l.entries, audit.Stored{Seq: int64(i + 1), Leaf: text, Hash: hash})
		r.Append(hash)
		l.roots = append(l.roots, r.Root())
	}
	return l
}

func (l *log) Range(_ context.Context, from, to int64, _ bool, fn func(e *audit.Stored) error) error {
	first, _ := slices.BinarySearchFunc(l.entries, from, func(e audit.Stored, seq int64) int {
		return cmp.Compare(e.Seq, seq)
	})
	for i := first; i < len(l.entries) && l.entries[i].Seq <= to; i++ {
		e := l.entries[i]
		l.reads.Add(1)
		if err := fn(&e); err != nil {
			return err
		}
	}
	return nil
}

func (l *log) PutTile(_ context.Context, level, index int64, hashes []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have, ok := l.tiles[[2]int64{level, index}]; ok {
		if string(have) != string(hashes) {
			return fmt.Errorf("tile %d/%d is written twice and differs", level, index)
		}
		return nil
	}
	l.tiles[[2]int64{level, index}] = hashes
	return nil
}

func (l *log) Tile(_ context.Context, level, index int64) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tiles[[2]int64{level, index}], nil
}

func (l *log) TileCount(_ context.Context, level int64) (n int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := range l.tiles {
		if at[0] == level {
			n++
		}
	}
	return n, nil
}

func (l *log) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

// big has a full tile of level 1, which needs 65,536 entries.
const big = 66_000

func TestEveryProofLeadsToTheRootWithAndWithoutTiles(t *testing.T) {
	t.Parallel()
	l := newLog(big)
	bare := treelog.New(l, l).Bare()
	tiled := treelog.New(l, l)
	if err := tiled.Grow(t.Context(), l, big); err != nil {
		t.Fatal(err)
	}
	if want := big/256 + 1; len(l.tiles) != want {
		t.Fatalf("%d tiles, want %d", len(l.tiles), want)
	}
	rapid.Check(t, func(r *rapid.T) {
		// Without tiles each tree is read completely, so the trees are small.
		size := rapid.Int64Range(0, 3000).Draw(r, "size")
		over := bare
		if rapid.Bool().Draw(r, "tiled") {
			size, over = rapid.Int64Range(0, big).Draw(r, "large"), tiled
		}
		root, err := over.Root(t.Context(), size)
		if err != nil || root != l.roots[size] {
			r.Fatalf("root of %d: %x, want %x: %v", size, root, l.roots[size], err)
		}
		from := rapid.Int64Range(0, size).Draw(r, "from")
		proof, err := over.Consistency(t.Context(), from, size)
		if err == nil {
			err = tree.VerifyConsistency(uint64(from), uint64(size), l.roots[from], root, proof)
		}
		if err != nil {
			r.Fatal(err)
		}
		if from == 0 {
			return
		}
		proof, err = over.Inclusion(t.Context(), from, size)
		if err == nil {
			err = tree.VerifyInclusion(l.entries[from-1].Hash, uint64(from-1), uint64(size), proof, root)
		}
		if err != nil {
			r.Fatal(err)
		}
	})
}

func TestARootReadsFewEntriesWhereTilesAreKept(t *testing.T) {
	t.Parallel()
	l := newLog(1000)
	over := treelog.New(l, l)
	if err := over.Grow(t.Context(), l, 1000); err != nil {
		t.Fatal(err)
	}
	l.reads.Store(0)
	if _, err := over.Root(t.Context(), 1000); err != nil || l.reads.Load() != 1000-3*256 {
		t.Errorf("%d entries were read: %v", l.reads.Load(), err)
	}
}

func TestGrowTwiceAndAtOnce(t *testing.T) {
	t.Parallel()
	l := newLog(20_000)
	over := treelog.New(l, l)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for _, size := range []int64{100, 5000, 20_000} {
				if err := over.Grow(t.Context(), l, size); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if len(l.tiles) != 78 {
		t.Errorf("%d tiles", len(l.tiles))
	}
	root, err := over.Root(t.Context(), 20_000)
	if err != nil || l.roots[20_000] != root {
		t.Errorf("root %x: %v", root, err)
	}
}

func TestWhatIsMissingOrAlteredIsNoRoot(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*log){
		"missing": func(l *log) { l.entries = append(l.entries[:40:40], l.entries[41:]...) },
		"altered": func(l *log) { l.entries[40].Leaf = "other" },
		"hash":    func(l *log) { l.entries[40].Hash[0]++ },
	} {
		l := newLog(100)
		change(l)
		if _, err := treelog.New(l, l).Root(t.Context(), 100); !audit.Broken.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := newLog(100)
	over := treelog.New(l, l)
	_, beyond := over.Root(t.Context(), 101)
	_, proof := over.Inclusion(t.Context(), 101, 100)
	_, none := over.Inclusion(t.Context(), 0, 100)
	_, back := over.Consistency(t.Context(), 101, 100)
	for _, err := range []error{beyond, proof, none, back} {
		if !audit.EntryNotFound.Is(err) {
			t.Errorf("the error is %v", err)
		}
	}
	if err := over.Grow(t.Context(), l, 100); err != nil {
		t.Error(err)
	}
	l.tiles[[2]int64{0, 0}] = []byte("short")
	l2 := newLog(300)
	l2.tiles = l.tiles
	if _, err := treelog.New(l2, l2).Root(t.Context(), 300); !audit.Broken.Is(err) {
		t.Errorf("a short tile: %v", err)
	}
}
