package proof

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

const testOrigin = "audit.example.org/in_test/e1"

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// nodes keeps every node of a tree.
type nodes map[tree.Node]tree.Hash

func (n nodes) Hashes(_ context.Context, list []tree.Node) ([]tree.Hash, error) {
	out := make([]tree.Hash, 0, len(list))
	for _, id := range list {
		h, ok := n[id]
		if !ok {
			return nil, fmt.Errorf("no node %v", id)
		}
		out = append(out, h)
	}
	return out, nil
}

// fixture is a chain with its keys, whose parts a test changes before it is written.
type fixture struct {
	head, passphrase keys.Private
	listed           []keys.Key
	entries          []bundle.Entry
	roots            []tree.Hash // by size
	nodes            nodes
}

func private(t testing.TB, seed byte, use keys.Use) keys.Private {
	t.Helper()
	p, err := keys.FromSeed(bytes.Repeat([]byte{seed}, 32), use)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func public(t testing.TB, p keys.Private) keys.Key {
	t.Helper()
	origin := testOrigin
	if p.Use() == keys.Statement {
		origin = ""
	}
	k, err := keys.NewKey(p.Public(), p.Use(), origin)
	if err != nil {
		t.Fatal(err)
	}
	k.Status, k.NotBefore = keys.Active, begin
	return k
}

func newFixture(t testing.TB, n int) *fixture {
	t.Helper()
	w := &fixture{head: private(t, 1, keys.Checkpoint), passphrase: private(t, 2, keys.Statement)}
	w.listed = []keys.Key{public(t, w.head), public(t, w.passphrase)}
	for i := 1; i <= n; i++ {
		w.entries = append(w.entries, entry(t, int64(i), nil))
	}
	w.link(t, 0)
	return w
}

// entry makes an entry; every third has a private value, every second of those disclosed.
func entry(t testing.TB, seq int64, change func(*leaf.Leaf)) bundle.Entry {
	t.Helper()
	l := leaf.Leaf{Act: "run.submit", At: leaf.At(begin.Add(time.Duration(seq) * time.Second)), Obj: "run/run_1",
		Out: leaf.Applied, Seq: seq, Sub: "usr_1"}
	var e bundle.Entry
	if seq%3 == 0 {
		text, err := disclosure.Disclosure{Salt: [16]byte{byte(seq)}, Name: disclosure.SubName,
			Value: "Ada \"Example\""}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		l.SD, e.Disclosures = []string{disclosure.Digest(text)}, []string{text}
	}
	if change != nil {
		change(&l)
	}
	var err error
	if e.Leaf, err = l.AppendTo(nil); err != nil {
		t.Fatal(err)
	}
	return e
}

// link chains the entries from this index on anew, and grows the tree over all of them.
func (w *fixture) link(t testing.TB, from int) {
	t.Helper()
	for i := from; i < len(w.entries); i++ {
		l, err := leaf.Scan(w.entries[i].Leaf)
		if err != nil {
			t.Fatal(err)
		}
		l.Prev = [32]byte{}
		if i > 0 {
			l.Prev = leaf.Hash(w.entries[i-1].Leaf)
		}
		if w.entries[i].Leaf, err = l.AppendTo(nil); err != nil {
			t.Fatal(err)
		}
	}
	var edge tree.Range
	w.nodes, w.roots = nodes{}, []tree.Hash{edge.Root()}
	for _, e := range w.entries {
		edge.AppendVisit(leaf.Hash(e.Leaf), func(n tree.Node, h tree.Hash) { w.nodes[n] = h })
		w.roots = append(w.roots, edge.Root())
	}
}

func (w *fixture) size() int64 { return int64(len(w.entries)) }

func (w *fixture) note(t testing.TB, size int64, signers ...keys.Signer) string {
	t.Helper()
	if len(signers) == 0 {
		signers = []keys.Signer{w.head}
	}
	out, err := checkpoint.Sign(checkpoint.Body{Origin: testOrigin, Size: size, Root: w.roots[size]}, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func (w *fixture) anchor(t testing.TB, size int64) bundle.Anchor {
	t.Helper()
	return bundle.Anchor{ID: fmt.Sprintf("anc_%d", size), Kind: "head_file", Size: size, Note: w.note(t, size)}
}

// window describes the bundle of a window of the chain.
func (w *fixture) window(t testing.TB, from, to int64) bundle.Head {
	t.Helper()
	h := bundle.Head{Origin: testOrigin, From: from, To: to, Size: w.size(), GeneratedAt: begin.Add(time.Hour),
		Checkpoint: w.note(t, w.size()), Keys: w.listed}
	if from > 1 {
		h.Prev = leaf.Hash(w.entries[from-2].Leaf)
	}
	if !h.Whole() {
		h.First, h.Last = w.inclusion(t, from), w.inclusion(t, to)
	}
	return h
}

func (w *fixture) whole(t testing.TB) bundle.Head { return w.window(t, 1, w.size()) }

func (w *fixture) inclusion(t testing.TB, seq int64) []tree.Hash {
	t.Helper()
	p, err := tree.Inclusion(t.Context(), w.nodes, uint64(seq-1), uint64(w.size()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *fixture) consistency(t testing.TB, from int64) *bundle.Consistency {
	t.Helper()
	p, err := tree.Consistency(t.Context(), w.nodes, uint64(from), uint64(w.size()))
	if err != nil {
		t.Fatal(err)
	}
	return &bundle.Consistency{From: from, Root: w.roots[from], Proof: p}
}

// write makes the document of a head and the entries that belong to it.
func (w *fixture) write(t testing.TB, h bundle.Head) []byte {
	t.Helper()
	return w.writeEntries(t, h, w.entries[h.From-1:h.To])
}

func (w *fixture) writeEntries(t testing.TB, h bundle.Head, list []bundle.Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	out, err := bundle.NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := out.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(w.passphrase); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (w *fixture) trusted() Trust { return Trust{VKeys: []string{w.listed[0].VKey}} }

func check(t testing.TB, r io.Reader, trust Trust) Verdict {
	t.Helper()
	v, err := VerifyBundle(t.Context(), r, trust, begin.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (w *fixture) check(t testing.TB, doc []byte) Verdict {
	t.Helper()
	return check(t, bytes.NewReader(doc), w.trusted())
}

// ends checks the verdict: "" for a good one, else its reason and coordinates.
func ends(t testing.TB, v Verdict, reason Reason, at, seq int64) {
	t.Helper()
	if v.OK != (reason == "") || v.Reason != reason || v.BrokeAt != at || v.BrokeSeq != seq {
		t.Fatalf("want %q at %d, entry %d; got %+v", reason, at, seq, v)
	}
	if len(v.NotChecked) < 7 || len(v.Checks) < 6 {
		t.Fatalf("the verdict hides something: %+v", v)
	}
}

func result(v Verdict, id string) Check {
	for _, c := range v.Checks {
		if c.ID == id {
			return c
		}
	}
	return Check{}
}

func problems(v Verdict) string {
	var out []string
	for _, p := range v.AnchorProblems {
		out = append(out, fmt.Sprintf("%s/%d/%s", p.Kind, p.Size, p.Problem))
	}
	return strings.Join(out, " ")
}
