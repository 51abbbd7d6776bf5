package audit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

func rewritten(old, replacement string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, replacement, 1) }
}

// rehash recomputes the hashes of an entry and all later ones, like an attacker with the database.
func (tr *trail) rehash(t *testing.T, from int64, change func(l *leaf.Leaf)) {
	t.Helper()
	var last [32]byte
	for seq, n := from, tr.size(t); seq <= n; seq++ {
		l, err := leaf.Scan([]byte(tr.stored(t, seq).Leaf))
		if err != nil {
			t.Fatal(err)
		}
		if seq == from {
			change(&l)
		} else {
			l.Prev = last
		}
		raw, err := l.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		last = leaf.Hash(raw)
		must(t, tr.EditLeaf(t.Context(), seq, func(string) string { return string(raw) }))
		must(t, tr.EditHash(t.Context(), seq, func([32]byte) [32]byte { return last }))
		must(t, tr.EditColumn(t.Context(), seq, "actor", l.Sub))
		must(t, tr.EditColumn(t.Context(), seq, "at", l.At))
	}
	tr.sql(t, "UPDATE audit_head SET hash = ? WHERE id = 1", last[:])
}

func must(t failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTampering runs the design's table of attacks on real stores. The chain has 12 entries, and heads of 5 and 11.
// Keeps T36.
func TestTampering(t *testing.T) {
	t.Parallel()
	const n, k = 12, 8
	usr9 := func(l *leaf.Leaf) { l.Sub = "usr_9" }
	for name, c := range map[string]struct {
		attack  func(t *testing.T, tr *trail)
		reason  proof.Reason
		at, seq int64
		anchors string
	}{
		"A1 a leaf": {func(t *testing.T, tr *trail) {
			must(t, tr.EditLeaf(t.Context(), k, rewritten("applied", "denied")))
		}, proof.ChainBreak, k, k, ""},
		"A1 the first": {func(t *testing.T, tr *trail) {
			must(t, tr.EditLeaf(t.Context(), 1, rewritten("applied", "denied")))
		}, proof.ChainBreak, 1, 1, ""},
		"A1 the last": {func(t *testing.T, tr *trail) {
			must(t, tr.EditLeaf(t.Context(), n, rewritten("applied", "denied")))
		}, proof.ChainBreak, n, n, ""},
		"A2 who": {func(t *testing.T, tr *trail) {
			must(t, tr.EditColumn(t.Context(), k, "actor", "usr_9"))
		}, proof.ChainBreak, k, k, ""},
		"A2 when": {func(t *testing.T, tr *trail) {
			must(t, tr.EditColumn(t.Context(), k, "at", leaf.At(time.Unix(0, 0))))
		}, proof.ChainBreak, k, k, ""},
		"A2 what": {func(t *testing.T, tr *trail) {
			must(t, tr.EditColumn(t.Context(), k, "action", "run.submit"))
		}, proof.ChainBreak, k, k, ""},
		"A2 of which run": {func(t *testing.T, tr *trail) {
			must(t, tr.EditColumn(t.Context(), k, "run", "run_1"))
		}, proof.ChainBreak, k, k, ""},
		"A2 the hash": {func(t *testing.T, tr *trail) {
			must(t, tr.EditHash(t.Context(), k, func(h [32]byte) [32]byte { h[3] ^= 1; return h }))
		}, proof.ChainBreak, k, k, ""},
		"A3 leaf and hash": {func(t *testing.T, tr *trail) { tr.forgeEntry(t, k) }, proof.ChainBreak, k + 1, k + 1, ""},
		"A3 of the last": {func(t *testing.T, tr *trail) { tr.forgeEntry(t, n) }, proof.AnchorUnsatisfied, 0, 0,
			"tip/12/root_mismatch"},
		"A4 deleted": {func(t *testing.T, tr *trail) { must(t, tr.Delete(t.Context(), k)) }, proof.ChainBreak, k,
			k + 1, ""},
		"A4 the first": {func(t *testing.T, tr *trail) { must(t, tr.Delete(t.Context(), 1)) }, proof.ChainBreak, 1, 2, ""},
		"A4 the last": {func(t *testing.T, tr *trail) { must(t, tr.Delete(t.Context(), n)) }, proof.AnchorUnsatisfied, 0,
			0, "tip/12/tail_missing"},
		"A5 inserted": {func(t *testing.T, tr *trail) { tr.foreign(t, k) }, proof.ChainBreak, k, k, ""},
		"A6 swapped": {func(t *testing.T, tr *trail) { must(t, tr.Swap(t.Context(), k, k+1)) }, proof.ChainBreak, k,
			k + 1, ""},
		"A7 empty": {func(t *testing.T, tr *trail) {
			must(t, tr.EditLeaf(t.Context(), k, func(string) string { return "" }))
		}, proof.ChainBreak, 0, 0, ""},
		"A7 A27 twice": {func(t *testing.T, tr *trail) {
			must(t, tr.EditLeaf(t.Context(), k, rewritten("{", `{"act":"a.b",`)))
		}, proof.ChainBreak, 0, 0, ""},
		"A7 A27 escaped": {func(t *testing.T, tr *trail) {
			must(t, tr.EditLeaf(t.Context(), k, rewritten("usr_", `\u0075sr_`)))
		}, proof.ChainBreak, 0, 0, ""},
		"A7 A27 2^53+1": {func(t *testing.T, tr *trail) {
			must(t, tr.EditLeaf(t.Context(), k, rewritten(`"seq":8`, `"seq":9007199254740993`)))
		}, proof.ChainBreak, 0, 0, ""},
		"A7 another form": {func(t *testing.T, tr *trail) {
			must(t, tr.EditLeaf(t.Context(), k, func(s string) string { return s + " " }))
		}, proof.ChainBreak, 0, 0, ""},
		"A8 the tail": {func(t *testing.T, tr *trail) { must(t, tr.CutAfter(t.Context(), 7)) }, proof.AnchorUnsatisfied, 0,
			0, "checkpoint/11/tail_missing"},
		"A8 everything": {func(t *testing.T, tr *trail) { must(t, tr.CutAfter(t.Context(), 0)) }, proof.AnchorUnsatisfied, 0,
			0, "checkpoint/5/tail_missing checkpoint/11/tail_missing"},
		"A10 all anew": {func(t *testing.T, tr *trail) { tr.rehash(t, 4, usr9) }, proof.AnchorUnsatisfied, 0, 0,
			"checkpoint/5/root_mismatch checkpoint/11/root_mismatch"},
		"A10 behind one": {func(t *testing.T, tr *trail) { tr.rehash(t, 6, usr9) }, proof.AnchorUnsatisfied, 0, 0,
			"checkpoint/11/root_mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, n, func(t *testing.T, tr *trail) {
				c.attack(t, tr)
				v := tr.verify(t)
				if v.OK || v.Reason != c.reason || v.BrokeAt != c.at || v.BrokeSeq != c.seq ||
					problems(v.AnchorProblems) != c.anchors {
					t.Errorf("want %s at %d, entry %d, %q; got %+v", c.reason, c.at, c.seq, c.anchors, v)
				}
				tr.refused(t, v)
			})
		})
	}
}

// forgeEntry edits a leaf and its stored hash.
func (tr *trail) forgeEntry(t *testing.T, seq int64) {
	t.Helper()
	must(t, tr.EditLeaf(t.Context(), seq, rewritten("applied", "denied")))
	hash := leaf.Hash([]byte(tr.stored(t, seq).Leaf))
	must(t, tr.EditHash(t.Context(), seq, func([32]byte) [32]byte { return hash }))
}

// foreign inserts an entry that is valid except for its links.
func (tr *trail) foreign(t *testing.T, seq int64) {
	t.Helper()
	e := tr.stored(t, seq)
	e.Leaf = strings.Replace(e.Leaf, "applied", "denied", 1)
	e.ID, e.Leaf = "aud_0", strings.Replace(e.Leaf, e.ID, "aud_0", 1)
	l, err := leaf.Scan([]byte(e.Leaf))
	must(t, err)
	l.Prev[0] ^= 1
	raw, err := l.AppendTo(nil)
	must(t, err)
	e.Leaf, e.Hash = string(raw), leaf.Hash(raw)
	must(t, tr.Insert(t.Context(), e))
}

func problems(list []proof.AnchorProblem) string {
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprintf("%s/%d/%s", p.Kind, p.Size, p.Problem))
	}
	return strings.Join(out, " ")
}

// TestOutsideOfTheDatabase cuts the tail together with every stored head (A9): the head file reveals it, and without
// one the verdict lists this as unprovable.
// Keeps T36.
func TestOutsideOfTheDatabase(t *testing.T) {
	t.Parallel()
	eachEngine(t, 12, func(t *testing.T, tr *trail) {
		doc := tr.file(t, audit.BundleQuery{})
		must(t, tr.CutAfter(t.Context(), 7))
		tr.sql(t, "DELETE FROM audit_anchors")
		v := tr.verify(t)
		if !v.OK || !strings.Contains(strings.Join(v.NotChecked, "\n"), "whether the end of the chain was removed") {
			t.Errorf("%+v", v)
		}
		got, err := proof.VerifyFile(t.Context(), bytes.NewReader(doc), proof.Trust{}, time.Now())
		if err != nil || !got.OK {
			t.Fatalf("%+v, %v", got, err)
		}
		tr.head.text = got.Note
		v = tr.verify(t)
		if v.OK || problems(v.AnchorProblems) != "head_file/12/tail_missing" {
			t.Errorf("%+v", v)
		}
		tr.refused(t, v)
		if err := tr.Opening.Open(t.Context()); !audit.RolledBack.Is(err) {
			t.Errorf("A26: a server starts over it: %v", err)
		}
	})
}

// TestPrivatePartsThatWereAltered checks that altered values are never returned.
func TestPrivatePartsThatWereAltered(t *testing.T) {
	t.Parallel()
	eachEngine(t, 12, func(t *testing.T, tr *trail) {
		other := tr.stored(t, 9)
		must(t, tr.EditPrivate(t.Context(), 8, other.Disclosures, other.Detail))
		v := tr.verify(t)
		if v.OK || v.Reason != proof.ChainBreak || v.BrokeAt != 8 || v.BrokeSeq != 8 {
			t.Errorf("%+v", v)
		}
		tr.refused(t, v)
		if p, err := tr.Trail.Page(t.Context(), audit.Filter{}); !audit.Broken.Is(err) {
			t.Errorf("the trail shows %+v, %v", p, err)
		}
	})
}

// TestNoMutationIsOverlooked makes one random change and reverts it.
func TestNoMutationIsOverlooked(t *testing.T) {
	t.Parallel()
	const n = 12
	eachEngine(t, n, func(t *testing.T, tr *trail) {
		rapid.Check(t, func(rt *rapid.T) {
			seq := rapid.Int64Range(1, n).Draw(rt, "seq")
			before := tr.stored(rt, seq)
			undo, ctx := func() error { return nil }, t.Context()
			switch kind := rapid.SampledFrom([]string{"leaf", "hash", "column", "swap"}).Draw(rt, "kind"); kind {
			case "leaf":
				raw := []byte(before.Leaf)
				at := rapid.IntRange(0, len(raw)-1).Draw(rt, "at")
				c := byte(rapid.IntRange(0x20, 0x7e).Draw(rt, "byte"))
				if raw[at] == c {
					rt.Skip("nothing is changed")
				}
				raw[at] = c
				must(rt, tr.EditLeaf(ctx, seq, func(string) string { return string(raw) }))
				undo = func() error { return tr.EditLeaf(ctx, seq, func(string) string { return before.Leaf }) }
			case "hash":
				at, with := rapid.IntRange(0, 31).Draw(rt, "at"), byte(rapid.IntRange(1, 255).Draw(rt, "with"))
				flip := func(h [32]byte) [32]byte { h[at] ^= with; return h }
				must(rt, tr.EditHash(ctx, seq, flip))
				undo = func() error { return tr.EditHash(ctx, seq, flip) }
			case "column":
				old := map[string]string{"id": before.ID, "at": before.At, "action": before.Action, "actor": before.Actor,
					"object": before.Object, "run": before.Run}
				name := rapid.SampledFrom([]string{"id", "at", "action", "actor", "object", "run"}).Draw(rt, "column")
				must(rt, tr.EditColumn(ctx, seq, name, old[name]+rapid.StringMatching(`[a-z_ ]{1,8}`).Draw(rt, "more")))
				undo = func() error { return tr.EditColumn(ctx, seq, name, old[name]) }
			case "swap":
				other := rapid.Int64Range(1, n).Draw(rt, "other")
				if other == seq {
					rt.Skip("nothing is changed")
				}
				must(rt, tr.Swap(ctx, seq, other))
				undo = func() error { return tr.Swap(ctx, seq, other) }
			}
			v := tr.verify(rt)
			must(rt, undo())
			if v.OK || v.Reason != proof.ChainBreak || v.BrokeAt != 0 && v.BrokeAt > n {
				rt.Fatalf("%+v", v)
			}
		})
		if v := tr.verify(t); !v.OK {
			t.Errorf("what was taken back is missed: %+v", v)
		}
	})
}
