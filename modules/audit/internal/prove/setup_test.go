package prove

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/receipt"
	"github.com/writ-automation/writ/ports/proof/tree"
)

const testOrigin = "audit.example.org/in_test/e1"

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fixture is an in-memory store, install and clock, whose rows a test changes.
type fixture struct {
	rows       []audit.Stored
	anchors    []audit.Anchor
	tip        *audit.Tip // nil: the tip of the rows
	epochs     []audit.Epoch
	head       keys.Private
	passphrase keys.Private
	keys       []keys.Key
	signed     []audit.Stored // the entries under the head that Checkpoint signs
	filed      string
	vouched    bool
	believed   proof.Outsiders
	now        time.Time
	ranges     atomic.Int64
	slow       chan struct{} // Range waits for it
	onRange    func()
	statuses   string
}

func newFixture(t testing.TB, n int) *fixture {
	t.Helper()
	w := &fixture{now: begin.Add(24 * time.Hour), epochs: []audit.Epoch{{N: 1, Origin: testOrigin, FirstSeq: 1}}}
	for use, p := range map[keys.Use]*keys.Private{keys.Checkpoint: &w.head, keys.Statement: &w.passphrase} {
		made, err := keys.FromSeed(bytes.Repeat([]byte{map[keys.Use]byte{keys.Checkpoint: 1, keys.Statement: 2}[use]}, 32),
			use)
		if err != nil {
			t.Fatal(err)
		}
		*p = made
		origin := testOrigin
		if use == keys.Statement {
			origin = ""
		}
		k, err := keys.NewKey(made.Public(), use, origin)
		if err != nil {
			t.Fatal(err)
		}
		k.Status, k.NotBefore = keys.Active, begin
		w.keys = append(w.keys, k)
	}
	for range n {
		w.add(t, nil)
	}
	w.signed = w.rows
	return w
}

// add appends an entry of run_1, a second later than the previous one.
func (w *fixture) add(t testing.TB, change func(l *leaf.Leaf, e *audit.Stored)) {
	t.Helper()
	seq := int64(len(w.rows) + 1)
	l := leaf.Leaf{
		Act: "run.submit", At: leaf.At(begin.Add(time.Duration(seq) * time.Second)), ID: fmt.Sprintf("aud_%d", seq),
		Obj: "user/usr_2",
		Out: leaf.Applied, Seq: seq, Sub: "usr_1",
	}
	e := audit.Stored{Seq: seq}
	if seq%3 == 0 {
		text, err := disclosure.Disclosure{Salt: [16]byte{byte(seq)}, Name: disclosure.SubName, Value: "Ada"}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		l.SD, e.Disclosures = []string{disclosure.Digest(text)}, []string{text}
	}
	if seq > 1 {
		l.Prev = w.rows[seq-2].Hash
	}
	if change != nil {
		change(&l, &e)
	}
	w.rows = append(w.rows, project(t, l, e))
	w.signed = w.rows
}

// project makes a row of a leaf with its hash and its columns.
func project(t testing.TB, l leaf.Leaf, e audit.Stored) audit.Stored {
	t.Helper()
	raw, err := l.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Leaf, e.Hash, e.ID, e.At, e.Action, e.Actor, e.Object, e.Run = string(raw), leaf.Hash(raw), l.ID, l.At, l.Act, l.Sub,
		l.Obj, l.Run
	return e
}

// edit changes only the leaf of a row.
func (w *fixture) edit(t testing.TB, seq int64, change func(l *leaf.Leaf)) {
	t.Helper()
	l, err := leaf.Scan([]byte(w.rows[seq-1].Leaf))
	if err != nil {
		t.Fatal(err)
	}
	change(&l)
	raw, err := l.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.rows[seq-1].Leaf = string(raw)
}

// forgeEntry recomputes every hash from a row on, like an attacker with the database.
func (w *fixture) forgeEntry(t testing.TB, from int64) {
	t.Helper()
	for i := from - 1; i < int64(len(w.rows)); i++ {
		l, err := leaf.Scan([]byte(w.rows[i].Leaf))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			l.Prev = w.rows[i-1].Hash
		}
		w.rows[i] = project(t, l, w.rows[i])
	}
}

func root(rows []audit.Stored) tree.Hash {
	var r tree.Range
	for _, e := range rows {
		r.Append(leaf.Hash([]byte(e.Leaf)))
	}
	return r.Root()
}

func (w *fixture) note(t testing.TB, size int64) string {
	t.Helper()
	n, err := checkpoint.Sign(checkpoint.Body{Origin: testOrigin, Size: size, Root: root(w.rows[:size])}, w.head)
	if err != nil {
		t.Fatal(err)
	}
	return string(n)
}

// seen stores the head of a size as an anchor.
func (w *fixture) seen(t testing.TB, kind string, size int64) *audit.Anchor {
	t.Helper()
	w.anchors = append(w.anchors, audit.Anchor{
		ID: fmt.Sprintf("anc_%s%d", strings.ToLower(kind), size), Kind: kind, Epoch: 1, Size: size, Root: root(w.rows[:size]),
		MadeAt: begin.Add(time.Duration(size) * time.Second), Note: w.note(t, size),
	})
	slices.SortFunc(w.anchors, func(a, b audit.Anchor) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.ID, b.ID))
	})
	for i := range w.anchors {
		if w.anchors[i].Size == size && w.anchors[i].Kind == kind {
			return &w.anchors[i]
		}
	}
	return nil
}

func (w *fixture) prover() *Prover {
	p := Params{Reader: w, Chain: w, Anchors: w, Tree: treelog.New(w, w), Install: w, Clock: w, Settings: Settings{
		Service: keys.Product{Name: "writ", Version: "1.0"}, Beat: time.Hour, Outsiders: w.believed,
		Status: func(context.Context, string) (string, error) { return w.statuses, nil },
	}}
	if w.filed != "" {
		p.HeadFile = w
	}
	return New(p)
}

func (w *fixture) trusted() proof.Trust {
	for _, k := range w.keys {
		if k.Use == keys.Checkpoint {
			return proof.Trust{VKeys: []string{k.VKey}}
		}
	}
	return proof.Trust{}
}

// runs adds entries of run_1 and its child run_2 among others.
func (w *fixture) runs(t testing.TB) {
	t.Helper()
	for _, e := range [][3]string{
		{"run.submit", "run/run_1", "run_1"}, {"auth.login", "user/usr_2"}, {"run.start", "run/run_2", "run_1"},
		{"run.final", "run/run_2", "run_1"},
		{"audit.beat"}, {"run.final", "run/run_1", "run_1"}, {"run.submit", "run/run_3", "run_3"},
	} {
		w.add(t, func(l *leaf.Leaf, s *audit.Stored) {
			l.Act, l.Obj, l.Run = e[0], e[1], e[2]
			if e[0] != "run.final" {
				return
			}
			id := strings.TrimPrefix(e[1], "run/")
			var own receipt.Count
			for _, r := range w.rows {
				if receipt.Belongs(id, r.Run, r.Object) {
					own.Add(r.Hash)
				}
			}
			got := own.Own()
			doc, err := keys.Encode(map[string]any{
				"v": 1, "id": id, "status": "succeeded",
				"entries": map[string]any{"count": got.Count, "digest": "sha256:" + hex.EncodeToString(got.Digest[:])},
			})
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(doc)
			s.Detail, l.Det = string(doc), "sha256:"+hex.EncodeToString(sum[:])
		})
	}
}

func digest(sum [32]byte) string { return "sha256:" + hex.EncodeToString(sum[:]) }
