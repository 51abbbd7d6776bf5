package proof

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

func TestWholeChainVerifies(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 20)
	h := w.whole(t)
	h.Anchors = []bundle.Anchor{w.anchor(t, 7), w.anchor(t, 7), w.anchor(t, 20)}
	doc := w.write(t, h)
	v := w.check(t, doc)
	ends(t, v, "", 0, 0)
	if !v.Pinned || v.Count != 20 || v.Size != 20 || len(v.AnchorProblems) != 0 ||
		result(v, "disclosures").Result != Passed {
		t.Fatalf("%+v", v)
	}
	if v := check(t, iotest.OneByteReader(bytes.NewReader(doc)), Trust{}); !v.OK || v.Pinned ||
		result(v, "trust").Result != Warned {
		t.Fatalf("without a key: %+v", v)
	}
}

// TestRandomChainsVerify draws sizes, windows, anchors and heads that the chain has to continue.
func TestRandomChainsVerify(t *testing.T) {
	t.Parallel()
	full := newFixture(t, 70)
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.Int64Range(1, 70).Draw(rt, "size")
		w := &fixture{head: full.head, passphrase: full.passphrase, listed: full.listed, entries: full.entries[:size],
			roots: full.roots, nodes: full.nodes}
		from := rapid.Int64Range(1, size).Draw(rt, "from")
		h := w.window(t, from, rapid.Int64Range(from, size).Draw(rt, "to"))
		last := int64(0)
		for range rapid.IntRange(0, 4).Draw(rt, "anchors") {
			last = rapid.Int64Range(last, size).Draw(rt, "anchor")
			h.Anchors = append(h.Anchors, w.anchor(t, last))
		}
		trust := w.trusted()
		if rapid.Bool().Draw(rt, "go on") {
			n := rapid.Int64Range(0, size).Draw(rt, "from head")
			h.Consistency = w.consistency(t, n)
			trust.From = &Head{Size: n, Root: w.roots[n]}
		}
		doc := w.write(t, h)
		v := check(t, bytes.NewReader(doc), trust)
		if !v.OK || !v.Pinned || v.Count != h.To-h.From+1 || len(v.AnchorProblems) != 0 {
			rt.Fatalf("%+v", v)
		}
		if trust.From != nil {
			trust.From.Root[0] ^= 1
			if v := check(t, bytes.NewReader(doc), trust); v.OK || v.Reason != AnchorUnsatisfied {
				rt.Fatalf("another root: %+v", v)
			}
		}
	})
}

// TestNoMutatedByteVerifies flips a bit of each byte of a document, and cuts it at every fourth; a quick run takes a
// sample.
func TestNoMutatedByteVerifies(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 7)
	h := w.window(t, 2, 6)
	h.Anchors, h.Consistency = []bundle.Anchor{w.anchor(t, 3)}, w.consistency(t, 4)
	doc := w.write(t, h)
	ends(t, w.check(t, doc), "", 0, 0)
	for i := range doc {
		if sampled(doc, i) {
			bad := bytes.Clone(doc)
			bad[i] ^= 1 << (i % 8)
			if v, err := VerifyBundle(t.Context(), bytes.NewReader(bad), Trust{}, begin); err == nil && v.OK {
				t.Fatalf("byte %d xor %#x verifies: %q", i, 1<<(i%8), bad[max(0, i-20):min(len(bad), i+20)])
			}
		}
		if i%depthtest.Of(101, 4) > 0 {
			continue
		}
		if v, err := VerifyBundle(t.Context(), bytes.NewReader(doc[:i]), Trust{}, begin); err == nil && v.OK {
			t.Fatalf("the first %d bytes verify", i)
		}
	}
}

// sampled reports whether a test changes this byte: in a long run each, in a quick one the first of every value and
// every 53rd.
func sampled(doc []byte, i int) bool {
	return depthtest.Long || i%53 == 0 || i > 0 && doc[i-1] == ':'
}

func TestNoRandomEditVerifies(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 9)
	h := w.whole(t)
	h.Anchors = []bundle.Anchor{w.anchor(t, 4)}
	doc := w.write(t, h)
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, len(doc)).Draw(rt, "at")
		cut := rapid.IntRange(0, min(64, len(doc)-at)).Draw(rt, "cut")
		put := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 8),
			rapid.SampledFrom([][]byte{[]byte(" "), []byte("\n"), []byte(`\u0041`), doc[at : at+cut], []byte(`"v":1,`),
				[]byte(`],[`)})).Draw(rt, "put")
		edited := append(append(bytes.Clone(doc[:at]), put...), doc[at+cut:]...)
		v, err := VerifyBundle(t.Context(), bytes.NewReader(edited), Trust{}, begin)
		if err == nil && v.OK && !bytes.Equal(edited, doc) {
			rt.Fatalf("verifies: %q", edited)
		}
	})
}

// TestHostileTextStaysData writes texts with a meaning for terminals and browsers into entries: they verify like any
// other, and the verdict contains none of them.
func TestHostileTextStaysData(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 0)
	for i, text := range []string{"<script>alert(1)</script>", "\x1b[2J\x1b]0;title\a", "\u202egnp.exe", "]},{\"leaf\":\"",
		"\\\"", "\x7f\u0085"} {
		w.entries = append(w.entries, entry(t, int64(i+1), func(l *leaf.Leaf) {
			l.Sub, l.Req, l.Obj, l.SD = text, text, "run/"+text, nil
		}))
		w.entries[i].Disclosures = nil
	}
	w.link(t, 0)
	v := w.check(t, w.write(t, w.whole(t)))
	ends(t, v, "", 0, 0)
	for _, c := range v.Checks {
		if strings.ContainsAny(c.Detail, "<\x1b\u202e") {
			t.Fatalf("%q", c.Detail)
		}
	}
}
