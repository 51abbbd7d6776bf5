package prove

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/audit/internal/archive"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

func bundleOf(t testing.TB, w *fixture, q audit.BundleQuery) []byte {
	t.Helper()
	doc, err := w.prover().Bundle(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := doc.WriteTo(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if err := doc.WriteTo(t.Context(), io.Discard); !fault.Is(err, fault.Internal) {
		t.Fatalf("a second time: %v", err)
	}
	return b.Bytes()
}

// TestBundlesVerify verifies bundles of windows with the verifier of files.
func TestBundlesVerify(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 40)
	for _, size := range []int64{4, 20, 40} {
		w.seen(t, audit.KindCheckpoint, size)
	}
	w.seen(t, audit.KindWorker, 20)
	for _, c := range []struct {
		q        audit.BundleQuery
		from, to int64
	}{
		{audit.BundleQuery{Private: true}, 1, 40}, {audit.BundleQuery{From: 5, To: 9}, 5, 9},
		{audit.BundleQuery{To: 1}, 1, 1}, {audit.BundleQuery{From: 40}, 40, 40},
		{audit.BundleQuery{Limit: 7}, 34, 40}, {audit.BundleQuery{From: 10, To: 20, Limit: 3}, 18, 20},
		{audit.BundleQuery{Limit: 400}, 1, 40},
	} {
		doc := bundleOf(t, w, c.q)
		v, err := proof.VerifyBundle(t.Context(), bytes.NewReader(doc), w.trusted(), w.now)
		if err != nil || !v.OK || !v.Pinned || v.Count != c.to-c.from+1 || v.Size != 40 {
			t.Errorf("%+v: %+v, %v", c.q, v, err)
		}
		if has := bytes.Contains(doc, []byte(`"disclosures"`)); has != c.q.Private {
			t.Errorf("%+v: disclosures %v", c.q, has)
		}
	}
	for q, field := range map[audit.BundleQuery]string{
		{From: -1}: "from", {To: -1}: "to", {Limit: -1}: "limit", {From: 41}: "from", {To: 41}: "to", {From: 5, To: 4}: "to",
		{From: 2, Tiles: true}:  "from",
		{Limit: 3, Tiles: true}: "from",
	} {
		_, err := w.prover().Bundle(t.Context(), q)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Location != field {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestHeadsOfWorkersGoFirst checks which anchors an overfull bundle drops: heads of workers prove no more than
// checkpoints.
func TestHeadsOfWorkersGoFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3)
	w.seen(t, audit.KindPublish, 1)
	a := *w.seen(t, audit.KindWorker, 2)
	for i := range depthtest.Of(bundle.MaxAnchors+10, 2*bundle.MaxAnchors) {
		a.ID = fmt.Sprintf("anc_x%05d", i)
		w.anchors = append(w.anchors, a)
	}
	var head struct {
		Anchors []bundle.Anchor `json:"anchors"`
	}
	if err := json.Unmarshal(bundleOf(t, w, audit.BundleQuery{}), &head); err != nil {
		t.Fatal(err)
	}
	if n := len(head.Anchors); n != bundle.MaxAnchors || head.Anchors[0].Kind != audit.KindPublish ||
		head.Anchors[n-1].ID != a.ID {
		t.Errorf("%d anchors, the first is %+v", n, head.Anchors[0])
	}
}

func TestNoBundleOfABadChain(t *testing.T) {
	t.Parallel()
	ask := func(w *fixture) *fault.Error {
		_, err := w.prover().Bundle(t.Context(), audit.BundleQuery{From: 1, To: 2})
		var f *fault.Error
		if !errors.As(err, &f) {
			t.Fatalf("%v", err)
		}
		return f
	}
	w := newFixture(t, 9)
	w.edit(t, 7, func(l *leaf.Leaf) { l.Sub = "usr_9" })
	if f := ask(w); !audit.Broken.Is(f) || f.Detail["broke_at"] != int64(7) || f.Detail["broke_seq"] != int64(7) ||
		f.Detail["count"] != int64(9) || f.Detail["reason"] != "chain_break" {
		t.Errorf("A28: %+v", f)
	}
	w = newFixture(t, 9)
	w.seen(t, audit.KindWorker, 9)
	w.rows = w.rows[:8]
	if f := ask(w); !audit.Unsatisfied.Is(f) || len(f.Detail["anchor_problems"].([]proof.AnchorProblem)) != 1 {
		t.Errorf("A8: %+v", f)
	}
	if f := ask(newFixture(t, 0)); !audit.Unbundlable.Is(f) {
		t.Errorf("empty: %+v", f)
	}
	w = newFixture(t, 3)
	w.rows[1].Leaf = strings.Replace(w.rows[1].Leaf, `"v":1}`, `"v":2}`, 1)
	w.rows[1].Hash = leaf.Hash([]byte(w.rows[1].Leaf))
	w.edit(t, 3, func(l *leaf.Leaf) { l.Prev = w.rows[1].Hash })
	w.rows[2].Hash = leaf.Hash([]byte(w.rows[2].Leaf))
	if v := check(t, w); !v.OK {
		t.Errorf("another version: %+v", v)
	}
	if f := ask(w); !audit.Unbundlable.Is(f) {
		t.Errorf("another version: %+v", f)
	}
}

// TestRowsThatChangeMeanwhile edits a row between verification and writing.
func TestRowsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	for _, tiles := range []bool{false, true} {
		for _, seq := range []int64{1, 5, 9} {
			w := newFixture(t, 9)
			doc, err := w.prover().Bundle(t.Context(), audit.BundleQuery{Tiles: tiles})
			if err != nil {
				t.Fatal(err)
			}
			w.edit(t, seq, func(l *leaf.Leaf) { l.Sub = "usr_9" })
			if seq < 9 {
				w.forgeEntry(t, seq)
			}
			var b bytes.Buffer
			if err := doc.WriteTo(t.Context(), &b); !audit.Broken.Is(err) || bytes.Contains(b.Bytes(), []byte("in-toto")) {
				t.Errorf("tiles %v, entry %d: %v", tiles, seq, err)
			}
		}
	}
}

// unzip reads a zip into a map.
func unzip(t testing.TB, data []byte) map[string][]byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if out[f.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestTilesLeadToTheHead reads the zip like a tool for tiles.
func TestTilesLeadToTheHead(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 255, 256, 257, 700} {
		w := newFixture(t, n)
		w.seen(t, audit.KindWorker, 1)
		files := unzip(t, bundleOf(t, w, audit.BundleQuery{Tiles: true}))
		var edge tree.Range
		for _, tile := range tree.TilesBetween(0, uint64(n)) {
			data, ok := files[tile.Path()]
			hashes, err := tile.Parse(data)
			if !ok || err != nil {
				t.Fatalf("%d: %s, %v", n, tile.Path(), err)
			}
			if tile.Level > 0 {
				continue
			}
			list, err := tile.Entries(files[tile.EntriesPath()])
			if err != nil {
				t.Fatalf("%d: %s, %v", n, tile.EntriesPath(), err)
			}
			for i, e := range list {
				if leaf.Hash(e) != hashes[i] {
					t.Fatalf("%d: entry %d of %s", n, i, tile.Path())
				}
				edge.Append(hashes[i])
			}
		}
		if edge.Root() != root(w.rows) || int(edge.Size()) != n {
			t.Errorf("%d: another tree", n)
		}
		var text []keys.Key
		for _, k := range w.keys {
			if k.Use == keys.Statement {
				text = append(text, k)
			}
		}
		ring, err := keys.NewRing(text...)
		if err != nil {
			t.Fatal(err)
		}
		s, err := dsse.OpenStatement(files["manifest.dsse.json"], dsse.BundleV1, ring)
		if err != nil || s.About(archive.SumsName, sha256.Sum256(files[archive.SumsName])) != nil {
			t.Errorf("%d: %v", n, err)
		}
		for _, name := range []string{"VERIFY.txt", "checkpoint", "vkey", "key.pem", "seal.json",
			"anchors/anc_worker1.note"} {
			if len(files[name]) == 0 || !bytes.Contains(files[archive.SumsName], []byte("  "+name+"\n")) {
				t.Errorf("%d: no %s", n, name)
			}
		}
		if len(files) < 10 {
			t.Errorf("%d files", len(files))
		}
	}
}
