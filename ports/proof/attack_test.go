package proof

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

const victims = 12

// edit changes only the values of one entry.
func (w *fixture) edit(t testing.TB, i int, change func(*leaf.Leaf)) {
	t.Helper()
	l, err := leaf.Scan(w.entries[i].Leaf)
	if err != nil {
		t.Fatal(err)
	}
	change(&l)
	if w.entries[i].Leaf, err = l.AppendTo(nil); err != nil {
		t.Fatal(err)
	}
}

// TestEntryAttacks makes the server itself sign a manifest over broken entries, so that only the chain reveals them.
// Keeps T36.
func TestEntryAttacks(t *testing.T) {
	t.Parallel()
	const k = 5 // index 4
	for name, c := range map[string]struct {
		attack  func(t *testing.T, w *fixture, list []bundle.Entry) []bundle.Entry
		reason  Reason
		at, seq int64
		anchors string
	}{
		"A1 A3 an edited entry breaks the link of the next": {func(t *testing.T, w *fixture,
			list []bundle.Entry) []bundle.Entry {
			w.edit(t, k-1, func(l *leaf.Leaf) { l.Sub = "usr_2" })
			return list
		}, ChainBreak, k + 1, k + 1, ""},
		"A1 an edited number": {func(t *testing.T, w *fixture, list []bundle.Entry) []bundle.Entry {
			w.edit(t, k-1, func(l *leaf.Leaf) { l.Seq = 99 })
			return list
		}, ChainBreak, k, 99, ""},
		"A3 the last entry edited": {func(t *testing.T, w *fixture, list []bundle.Entry) []bundle.Entry {
			w.edit(t, victims-1, func(l *leaf.Leaf) { l.Sub = "usr_2" })
			return list
		}, AnchorUnsatisfied, 0, 0, "checkpoint/12/root_mismatch"},
		"A4 deleted": {func(_ *testing.T, _ *fixture, list []bundle.Entry) []bundle.Entry {
			return slices.Delete(list, k-1, k)
		}, ChainBreak, k, k + 1, ""},
		"A5 inserted": {func(_ *testing.T, _ *fixture, list []bundle.Entry) []bundle.Entry {
			return slices.Insert(list, k-1, entry(t, k, nil))
		}, ChainBreak, k, k, ""},
		"A5 appended": {func(_ *testing.T, _ *fixture, list []bundle.Entry) []bundle.Entry {
			return append(list, entry(t, victims+1, nil))
		}, ChainBreak, victims + 1, victims + 1, ""},
		"A6 swapped": {func(_ *testing.T, _ *fixture, list []bundle.Entry) []bundle.Entry {
			list[k-1], list[k] = list[k], list[k-1]
			return list
		}, ChainBreak, k, k + 1, ""},
		"A7 empty": {func(_ *testing.T, _ *fixture, list []bundle.Entry) []bundle.Entry {
			list[k-1].Leaf = nil
			return list
		}, ChainBreak, 0, 0, ""},
		"A7 A27 a key twice": {func(_ *testing.T, _ *fixture, list []bundle.Entry) []bundle.Entry {
			list[k-1].Leaf = bytes.Replace(list[k-1].Leaf, []byte(`{`), []byte(`{"act":"x.y",`), 1)
			return list
		}, ChainBreak, 0, 0, ""},
		"A7 A27 a number beyond all readers": {func(_ *testing.T, _ *fixture, list []bundle.Entry) []bundle.Entry {
			list[k-1].Leaf = bytes.Replace(list[k-1].Leaf, []byte(`"seq":5`), []byte(`"seq":9007199254740993`), 1)
			return list
		}, ChainBreak, 0, 0, ""},
		"A7 A27 an escape": {func(_ *testing.T, _ *fixture, list []bundle.Entry) []bundle.Entry {
			list[k-1].Leaf = bytes.Replace(list[k-1].Leaf, []byte(`usr_1`), []byte(`\u0075sr_1`), 1)
			return list
		}, ChainBreak, 0, 0, ""},
		"A8 the tail cut": {func(_ *testing.T, _ *fixture, list []bundle.Entry) []bundle.Entry {
			return list[:victims-2]
		}, AnchorUnsatisfied, 0, 0, "head_file/12/tail_missing checkpoint/12/tail_missing"},
		"A10 everything computed anew": {func(t *testing.T, w *fixture, list []bundle.Entry) []bundle.Entry {
			w.edit(t, k-1, func(l *leaf.Leaf) { l.Sub = "usr_2" })
			w.link(t, k)
			return list
		}, AnchorUnsatisfied, 0, 0, "head_file/8/root_mismatch head_file/12/root_mismatch checkpoint/12/root_mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, victims)
			h := w.whole(t)
			if c.reason == ChainBreak || strings.Contains(c.anchors, "head_file") {
				h.Anchors = []bundle.Anchor{w.anchor(t, 3), w.anchor(t, 8), w.anchor(t, victims)}
			}
			list := c.attack(t, w, w.entries)
			v := w.check(t, w.forgeEntry(t, h, list))
			ends(t, v, c.reason, c.at, c.seq)
			if got := problems(v); got != c.anchors || v.Count != int64(len(list)) || result(v, "manifest").Result != Passed {
				t.Fatalf("%s in %+v", got, v)
			}
		})
	}
}

// forgeEntry writes a document whose entries contradict its head. The writer counts the entries, so that the function
// passes a window of the list's length, and then corrects the written head and signs again.
func (w *fixture) forgeEntry(t testing.TB, h bundle.Head, list []bundle.Entry) []byte {
	t.Helper()
	if int64(len(list)) == h.To-h.From+1 {
		return w.writeEntries(t, h, list)
	}
	other := h
	other.To = h.From + int64(len(list)) - 1
	other.Size = max(other.To, h.Size)
	if !other.Whole() {
		other.First, other.Last = nil, nil
	}
	doc := string(w.writeEntries(t, other, list))
	body, _, _ := strings.Cut(doc, `,"manifest":`)
	head, rest, _ := strings.Cut(body, `,"generated_at":`)
	was, _, _ := strings.Cut(string(w.headOnly(t, h)), `,"generated_at":`)
	if rest = strings.Replace(rest, `,"inclusion":{"first":[],"last":[]}`, "", 1); head == was {
		t.Fatal("nothing to forge")
	}
	return w.sign(t, was+`,"generated_at":`+rest, h)
}

// headOnly is a document of the head without its entries and end.
func (w *fixture) headOnly(t testing.TB, h bundle.Head) []byte {
	t.Helper()
	var b bytes.Buffer
	out, err := bundle.NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	for range h.To - h.From + 1 {
		if err := out.Add(bundle.Entry{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(w.passphrase); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Keeps T36.
func TestHeadAttacks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, victims)
	other := newFixture(t, 0)
	for i := range victims {
		other.entries = append(other.entries, entry(t, int64(i+1), func(l *leaf.Leaf) { l.Sub = "usr_9" }))
	}
	other.link(t, 0)

	t.Run("A12 two heads of one size", func(t *testing.T) {
		t.Parallel()
		h := w.whole(t)
		h.Anchors = []bundle.Anchor{w.anchor(t, victims), other.anchor(t, victims)}
		v := w.check(t, w.write(t, h))
		ends(t, v, AnchorUnsatisfied, 0, 0)
		if problems(v) != "head_file/12/root_mismatch" {
			t.Fatalf("%+v", v)
		}
		v = check(t, bytes.NewReader(w.write(t, w.whole(t))),
			Trust{VKeys: w.trusted().VKeys, From: &Head{Size: victims, Root: other.roots[victims]}})
		ends(t, v, AnchorUnsatisfied, 0, 0)
		if problems(v) != "from/12/root_mismatch" || result(v, "from").Result != Failed {
			t.Fatalf("%+v", v)
		}
	})
	t.Run("A18 an old file", func(t *testing.T) {
		t.Parallel()
		v := check(t, bytes.NewReader(w.write(t, w.whole(t))), Trust{From: &Head{Size: victims + 1}})
		ends(t, v, AnchorUnsatisfied, 0, 0)
		if problems(v) != "from/13/tail_missing" || !strings.Contains(result(v, "from").Detail, "stale") {
			t.Fatalf("%+v", v)
		}
	})
	t.Run("A8 a checkpoint beyond the file", func(t *testing.T) {
		t.Parallel()
		h := w.whole(t)
		h.To, h.Size = 10, 10
		v := w.check(t, w.write(t, h))
		ends(t, v, AnchorUnsatisfied, 0, 0)
		if problems(v) != "checkpoint/12/tail_missing" {
			t.Fatalf("%+v", v)
		}
	})
	t.Run("a head that nothing shows", func(t *testing.T) {
		t.Parallel()
		v := check(t, bytes.NewReader(w.write(t, w.window(t, 6, 9))), Trust{From: &Head{Size: 2, Root: w.roots[2]}})
		ends(t, v, ProofInvalid, 0, 0)
	})
	t.Run("an anchor outside of the window is named as not checked", func(t *testing.T) {
		t.Parallel()
		h := w.window(t, 6, 9)
		h.Anchors = []bundle.Anchor{other.anchor(t, 2), w.anchor(t, 5), w.anchor(t, 7), other.anchor(t, 11)}
		v := w.check(t, w.write(t, h))
		ends(t, v, "", 0, 0)
		if !slices.Contains(v.NotChecked, "2 anchors outside of the window") {
			t.Fatalf("%+v", v)
		}
		h.Anchors = []bundle.Anchor{other.anchor(t, 5)}
		ends(t, w.check(t, w.write(t, h)), AnchorUnsatisfied, 0, 0)
	})
}

// Keeps T36.
func TestKeyAttacks(t *testing.T) {
	t.Parallel()
	good := newFixture(t, victims)
	thief := newFixture(t, 0)
	thief.head, thief.passphrase = private(t, 7, keys.Checkpoint), private(t, 8, keys.Statement)
	thief.listed = []keys.Key{public(t, thief.head), public(t, thief.passphrase)}
	thief.entries = good.entries
	thief.link(t, 0)

	t.Run("A13 other keys", func(t *testing.T) {
		t.Parallel()
		doc := thief.write(t, thief.whole(t))
		ends(t, good.check(t, doc), KeyUntrusted, 0, 0)
		if v := check(t, bytes.NewReader(doc), Trust{}); !v.OK || v.Pinned {
			t.Fatalf("%+v", v)
		}
		h := thief.whole(t)
		h.Keys = append(slices.Clone(good.listed), thief.listed...)
		if v := good.check(t, thief.write(t, h)); v.OK || v.Pinned || v.Reason != KeyUntrusted {
			t.Fatalf("listed beside the right one: %+v", v)
		}
	})
	t.Run("A14 a retired key", func(t *testing.T) {
		t.Parallel()
		h := good.whole(t)
		h.Keys = slices.Clone(good.listed)
		h.Keys[0].Status, h.Keys[0].LastSize = keys.Retired, victims-1
		ends(t, good.check(t, good.write(t, h)), KeyRetired, 0, 0)
		h.Keys[0].LastSize = victims
		ends(t, good.check(t, good.write(t, h)), "", 0, 0)
	})
	t.Run("a key that was handed over to", func(t *testing.T) {
		t.Parallel()
		h := good.whole(t)
		h.Keys = slices.Clone(good.listed)
		h.Keys[0].Status, h.Keys[0].LastSize = keys.Retired, 6
		next := thief.listed[0]
		next.FirstSize, next.Handover = 6, good.note(t, 6, good.head, thief.head)
		h.Keys = append(h.Keys, next)
		h.Checkpoint = good.note(t, victims, thief.head)
		h.Anchors = []bundle.Anchor{good.anchor(t, 4)}
		v := good.check(t, good.write(t, h))
		ends(t, v, "", 0, 0)
		if !v.Pinned {
			t.Fatalf("%+v", v)
		}
	})
	t.Run("A22 one of two lines left out", func(t *testing.T) {
		t.Parallel()
		h := good.whole(t)
		h.Keys = append(slices.Clone(good.listed), thief.listed[0])
		ends(t, check(t, bytes.NewReader(good.write(t, h)), Trust{}), SignatureInvalid, 0, 0)
		h.Checkpoint = good.note(t, victims, good.head, thief.head)
		ends(t, check(t, bytes.NewReader(good.write(t, h)), Trust{}), "", 0, 0)
	})
	t.Run("an anchor by a stranger", func(t *testing.T) {
		t.Parallel()
		h := good.whole(t)
		h.Anchors = []bundle.Anchor{thief.anchor(t, 3)}
		v := good.check(t, good.write(t, h))
		ends(t, v, AnchorUnsatisfied, 0, 0)
		if problems(v) != "head_file/3/signature_invalid" {
			t.Fatalf("%+v", v)
		}
	})
	t.Run("a manifest by a key that is not listed", func(t *testing.T) {
		t.Parallel()
		w := *good
		w.passphrase = thief.passphrase
		ends(t, good.check(t, w.write(t, w.whole(t))), KeyUntrusted, 0, 0)
	})
}

// Keeps T36.
func TestProofAttacks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, victims)
	for name, attack := range map[string]func(h *bundle.Head){
		"A20 the proof of another entry": func(h *bundle.Head) { h.First = w.inclusion(t, 5) },
		"A20 the last one of another":    func(h *bundle.Head) { h.Last = w.inclusion(t, 10) },
		"A20 cut":                        func(h *bundle.Head) { h.First = h.First[1:] },
		"A20 one hash too many":          func(h *bundle.Head) { h.Last = append(slices.Clone(h.Last), tree.Hash{}) },
		"A20 none":                       func(h *bundle.Head) { h.First, h.Last = nil, nil },
		"a consistency that leads nowhere": func(h *bundle.Head) {
			h.Consistency = w.consistency(t, 3)
			h.Consistency.From = 4
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := w.window(t, 4, 9)
			attack(&h)
			ends(t, w.check(t, w.write(t, h)), ProofInvalid, 0, 0)
		})
	}
	h := w.window(t, 4, 9)
	h.Prev[0] ^= 1
	ends(t, w.check(t, w.write(t, h)), ChainBreak, 1, 4)
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	w := newFixture(t, victims)
	w.edit(t, 6, func(l *leaf.Leaf) { l.At = leaf.At(begin.Add(-time.Hour)) })
	w.edit(t, 8, func(l *leaf.Leaf) { l.At = leaf.At(begin.Add(48 * time.Hour)) })
	w.link(t, 0)
	w.entries[2].Disclosures = nil
	v := w.check(t, w.write(t, w.whole(t)))
	ends(t, v, "", 0, 0)
	if c := result(v, "times"); c.Result != Warned || !strings.Contains(c.Detail, "clock_back: 2") ||
		!strings.Contains(c.Detail, "the first is entry 7") ||
		!strings.Contains(c.Detail, "clock_ahead: 1") {
		t.Errorf("A16: %+v", c)
	}
	if c := result(v, "disclosures"); c.Result != Warned || !strings.Contains(c.Detail, "withheld: 1") {
		t.Errorf("A23: %+v", c)
	}
	w.entries[2].Disclosures = w.entries[5].Disclosures
	v = w.check(t, w.write(t, w.whole(t)))
	ends(t, v, ProofInvalid, 0, 0)
	if c := result(v, "disclosures"); c.Result != Failed || !strings.Contains(c.Detail, "mismatch") {
		t.Errorf("A23: %+v", c)
	}
}
