package tree

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// most is the largest tree of the tests that draw one.
const most = 3000

func TestRootsAreThoseOfTheDefinition(t *testing.T) {
	t.Parallel()
	var r Range
	for size := uint64(0); size <= 600; size++ {
		if r.Root() != root(0, size) || r.Size() != size {
			t.Fatalf("size %d has the root %x", size, r.Root())
		}
		r.Append(leafHash(size))
	}
}

func TestResumedRangesGrowAlike(t *testing.T) {
	t.Parallel()
	all := grow(most)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(0, most).Draw(t, "size")
		stop := rapid.Uint64Range(0, size).Draw(t, "stop")
		var first Range
		for i := range stop {
			first.Append(leafHash(i))
		}
		b, err := first.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var stored Range
		if err := stored.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		read, err := Resume(context.Background(), all, stop)
		if err != nil || read != stored || stored != first {
			t.Fatalf("%v at %d", err, stop)
		}
		held := first
		for i := stop; i < size; i++ {
			stored.Append(leafHash(i))
		}
		if want, err := Resume(context.Background(), all, size); err != nil || stored != want ||
			stored.Root() != want.Root() {
			t.Fatalf("%v: %d grown from %d is another tree", err, size, stop)
		}
		if first != held || first.Root() != root(0, stop) {
			t.Fatal("the original grew with its copy")
		}
	})
}

func TestInclusionFitsItsLeafAlone(t *testing.T) {
	t.Parallel()
	all := grow(most)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(1, most).Draw(t, "size")
		index := rapid.Uint64Range(0, size-1).Draw(t, "index")
		edge, err := Resume(context.Background(), all, size)
		if err != nil {
			t.Fatal(err)
		}
		path, err := Inclusion(context.Background(), all, index, size)
		if err != nil {
			t.Fatal(err)
		}
		check := func(leaf Hash, index, size uint64, path []Hash, root Hash) string {
			return code(VerifyInclusion(leaf, index, size, path, root))
		}
		leaf, top := leafHash(index), edge.Root()
		if err := VerifyInclusion(leaf, index, size, path, top); err != nil {
			t.Fatal(err)
		}
		other := rapid.Uint64Range(0, size-1).Filter(func(i uint64) bool { return i != index || size == 1 }).Draw(t, "other")
		if other != index && (check(leaf, other, size, path, top) == "" ||
			check(leafHash(other), index, size, path, top) == "") {
			t.Fatalf("%d passes for %d of %d", index, other, size)
		}
		if check(flip(t, leaf), index, size, path, top) != "root" || check(leaf, index, size, path, flip(t, top)) != "root" {
			t.Fatal("another leaf or root is accepted")
		}
		for name, wrong := range mutations(t, path) {
			if got := check(leaf, index, size, wrong, top); got == "" || len(wrong) != len(path) && got != "length" {
				t.Fatalf("%s: %q", name, got)
			}
		}
		// Another size is detected unless its path to the root has the same sides.
		size2 := rapid.Uint64Range(0, 2*most).Draw(t, "another size")
		if same := index < size2 && way(index, size) == way(index,
			size2); (check(leaf, index, size2, path, top) == "") != same {
			t.Fatalf("%d of %d passes for %d: %v", index, size, size2, !same)
		}
	})
}

// way returns the side of each hash of an inclusion proof.
func way(index, size uint64) string {
	out := ""
	for last := size - 1; last > 0; index, last = index/2, last/2 {
		switch {
		case index%2 == 1:
			out += "l"
		case index < last:
			out += "r"
		}
	}
	return out
}

func TestConsistencyFitsItsTreesAlone(t *testing.T) {
	t.Parallel()
	all := grow(most)
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.Uint64Range(0, most).Draw(t, "to")
		from := rapid.Uint64Range(0, to).Draw(t, "from")
		roots := [2]Hash{}
		for i, size := range []uint64{from, to} {
			edge, err := Resume(context.Background(), all, size)
			if err != nil {
				t.Fatal(err)
			}
			roots[i] = edge.Root()
		}
		path, err := Consistency(context.Background(), all, from, to)
		if err != nil {
			t.Fatal(err)
		}
		check := func(from, to uint64, a, b Hash, path []Hash) string {
			return code(VerifyConsistency(from, to, a, b, path))
		}
		if err := VerifyConsistency(from, to, roots[0], roots[1], path); err != nil {
			t.Fatal(err)
		}
		if check(from, to, flip(t, roots[0]), roots[1], path) != "root" {
			t.Fatal("another old root is accepted")
		}
		if got := check(from, to, roots[0], flip(t, roots[1]), path); got != "root" && from > 0 {
			t.Fatalf("another new root: %q", got)
		}
		for name, wrong := range mutations(t, path) {
			if got := check(from, to, roots[0], roots[1], wrong); got == "" || len(wrong) != len(path) && got != "length" {
				t.Fatalf("%s: %q", name, got)
			}
		}
		if from < to && check(to, from, roots[1], roots[0], path) != "size" {
			t.Fatal("a tree may shrink")
		}
		other := rapid.Uint64Range(1, most).Draw(t, "other")
		if other != from && from > 0 && from < to && other < to &&
			check(other, to, roots[0], roots[1], path) == "" {
			t.Fatalf("%d to %d passes for %d", from, to, other)
		}
	})
}

// TestForksAreNeverConsistent changes one leaf that the older tree has.
func TestForksAreNeverConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.Uint64Range(2, 300).Draw(t, "to")
		from := rapid.Uint64Range(1, to-1).Draw(t, "from")
		changed := rapid.Uint64Range(0, from-1).Draw(t, "changed")
		honest, forked := grow(from), &nodes{hash: make(map[Node]Hash)}
		for i := range to {
			h := leafHash(i)
			if i == changed {
				h = leafHash(1 << 40)
			}
			forked.frontier.AppendVisit(h, func(id Node, h Hash) { forked.hash[id] = h })
		}
		path, err := Consistency(context.Background(), forked, from, to)
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyConsistency(from, to, honest.frontier.Root(), forked.frontier.Root(), path); code(err) != "root" {
			t.Fatalf("%d to %d with another leaf %d: %v", from, to, changed, err)
		}
	})
}

func flip(t *rapid.T, h Hash) Hash {
	bit := rapid.IntRange(0, 255).Draw(t, "bit")
	h[bit/8] ^= 1 << (bit % 8)
	return h
}

// mutations returns invalid variants of a proof.
func mutations(t *rapid.T, path []Hash) map[string][]Hash {
	out := map[string][]Hash{"one more": append(slices.Clone(path), leafHash(0)),
		"one before": append([]Hash{leafHash(0)}, path...)}
	if len(path) == 0 {
		return out
	}
	out["cut"], out["first missing"], out["none"] = path[:len(path)-1], path[1:], nil
	at := rapid.IntRange(0, len(path)-1).Draw(t, "at")
	flipped := slices.Clone(path)
	flipped[at] = flip(t, flipped[at])
	out["one bit"] = flipped
	if to := rapid.IntRange(0, len(path)-1).Draw(t, "to"); to != at {
		swapped := slices.Clone(path)
		swapped[at], swapped[to] = path[to], path[at]
		out["swapped"] = swapped
	}
	return out
}

func TestSourcesThatFail(t *testing.T) {
	t.Parallel()
	ctx, empty := context.Background(), &nodes{}
	if _, err := Inclusion(ctx, empty, 3, 7); err == nil || code(err) != "" {
		t.Error(err)
	}
	if _, err := Consistency(ctx, short{}, 3, 7); err == nil || code(err) != "" {
		t.Error(err)
	}
	if _, err := Resume(ctx, short{}, 7); err == nil {
		t.Error("a range without its hashes")
	}
	for _, err := range []error{
		second(Inclusion(ctx, empty, 7, 7)), second(Inclusion(ctx, empty, 0, MaxSize+1)),
		second(Consistency(ctx, empty, 8, 7)), second(Consistency(ctx, empty, 8, MaxSize+1)),
		second(Resume(ctx, empty, MaxSize+1)),
	} {
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeSize || e.Error() == "" {
			t.Error(err)
		}
	}
	if _, err := (Range{size: MaxSize + 1}).MarshalBinary(); code(err) != string(CodeSize) {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

type short struct{}

func (short) Hashes(_ context.Context, ids []Node) ([]Hash, error) {
	return make([]Hash, len(ids)-1), nil
}
