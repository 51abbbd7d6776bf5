package proof

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// without returns the entries of a window, of some of them only the hash.
func (w *fixture) without(h bundle.Head, hidden func(seq int64) bool) []bundle.Entry {
	list := slices.Clone(w.entries[h.From-1 : h.To])
	for i, e := range list {
		if hidden(h.From + int64(i)) {
			hash := tree.Hash(leaf.Hash(e.Leaf))
			list[i] = bundle.Entry{Hash: &hash}
		}
	}
	return list
}

// TestWithheldEntries withholds entries of random windows. The file verifies with a remark, and no hash can be another.
func TestWithheldEntries(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 40)
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.Int64Range(1, 40).Draw(rt, "from")
		h := w.window(t, from, rapid.Int64Range(from, 40).Draw(rt, "to"))
		h.Anchors = []bundle.Anchor{w.anchor(t, rapid.Int64Range(0, 40).Draw(rt, "anchor"))}
		hidden := rapid.SliceOfNDistinct(rapid.Int64Range(h.From, h.To), 1, int(h.To-h.From+1), rapid.ID).
			Draw(rt, "hidden")
		list := w.without(h, func(seq int64) bool { return slices.Contains(hidden, seq) })
		v := w.check(t, w.writeEntries(t, h, list))
		if !v.OK || v.Count != h.To-h.From+1 || result(v, "entries").Result != Warned ||
			!strings.Contains(strings.Join(v.NotChecked, "\n"), "only the hash") {
			rt.Fatalf("%+v", v)
		}
		list[hidden[0]-h.From].Hash[0] ^= 1
		if v := w.check(t, w.writeEntries(t, h, list)); v.OK {
			rt.Fatalf("another hash of entry %d verifies: %+v", hidden[0], v)
		}
	})
}

// TestWithheldAttacks forges what withheld entries no longer link.
func TestWithheldAttacks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 12)
	window := w.window(t, 5, 9)
	between := w.without(window, func(seq int64) bool { return seq == 7 || seq == 8 })
	between[1] = entry(t, 6, func(l *leaf.Leaf) { l.Prev, l.Sub = leaf.Hash(between[0].Leaf), "usr_9" })
	whole := w.whole(t)
	first := w.without(whole, func(seq int64) bool { return seq < 3 })
	first[2] = entry(t, 3, func(l *leaf.Leaf) { l.Prev = [32]byte{1} })
	more := append(slices.Clone(w.entries), bundle.Entry{Hash: &tree.Hash{1}})
	for name, c := range map[string]struct {
		doc     []byte
		reason  Reason
		at, seq int64
	}{
		"a forged entry before two hashes": {w.writeEntries(t, window, between), ProofInvalid, 0, 0},
		"another hash before an entry":     {w.writeEntries(t, whole, first), ChainBreak, 3, 3},
		"a hash too many":                  {w.forgeEntry(t, whole, more), ChainBreak, 13, 13},
	} {
		t.Run(name, func(t *testing.T) { ends(t, w.check(t, c.doc), c.reason, c.at, c.seq) })
	}
}
