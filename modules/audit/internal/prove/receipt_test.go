package prove

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

func TestReceiptsVerify(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.statuses = "running"
	w.runs(t)
	w.seen(t, audit.KindWorker, 4)
	w.seen(t, audit.KindHeadFile, 12)
	size := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		run    string
		q      audit.ReceiptQuery
		count  int64
		warned string
	}{
		{"run_1", audit.ReceiptQuery{}, 6, "disclosures"}, {"run_1", audit.ReceiptQuery{Private: true}, 6, ""},
		{"run_1", audit.ReceiptQuery{Sparse: true, Private: true}, 4, ""},
		{"run_1", audit.ReceiptQuery{From: size(3), Private: true}, 6, ""},
		{"run_1", audit.ReceiptQuery{From: size(0), Private: true, Sparse: true}, 4, ""},
		{"run_1", audit.ReceiptQuery{From: size(12), Private: true}, 6, ""},
		{"run_2", audit.ReceiptQuery{Private: true}, 2, ""},
		{"run_3", audit.ReceiptQuery{Private: true}, 1, "subject completeness"},
	} {
		got, err := w.prover().Receipt(t.Context(), c.run, c.q)
		if err != nil {
			t.Fatal(err)
		}
		trust := w.trusted()
		if c.q.From != nil {
			trust.From = &proof.Head{Size: *c.q.From, Root: root(w.rows[:*c.q.From])}
		}
		v, err := proof.VerifyReceipt(t.Context(), bytes.NewReader(got.Body), trust, w.now)
		var warned []string
		for _, k := range v.Checks {
			if k.Result == proof.Warned {
				warned = append(warned, k.ID)
			}
		}
		if err != nil || !v.OK || !v.Pinned || v.Count != c.count || strings.Join(warned, " ") != c.warned ||
			keys.CheckID(got.KeyID) != nil {
			t.Errorf("%s %+v: %q in %+v, %v", c.run, c.q, warned, v, err)
		}
		if strings.Contains(string(got.Body), "Ada") {
			t.Error("a private value in plain text")
		}
	}
}

func TestReceiptsThatThereAreNot(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.runs(t)
	ask := func(run string, q audit.ReceiptQuery) *fault.Error {
		_, err := w.prover().Receipt(t.Context(), run, q)
		var f *fault.Error
		if !errors.As(err, &f) {
			t.Fatalf("%v", err)
		}
		return f
	}
	n := int64(13)
	if f := ask("run_1", audit.ReceiptQuery{From: &n}); !audit.Unsatisfied.Is(f) ||
		f.Detail["anchor_problems"].([]proof.AnchorProblem)[0].Problem != "tail_missing" {
		t.Errorf("%+v", f)
	}
	n = -1
	if f := ask("run_1", audit.ReceiptQuery{From: &n}); f.Kind != fault.Invalid {
		t.Errorf("%+v", f)
	}
	if f := ask("run_9", audit.ReceiptQuery{}); f.Kind != fault.NotFound {
		t.Errorf("%+v", f)
	}
	w.seen(t, audit.KindWorker, 6).Root[0] ^= 1
	if f := ask("run_1", audit.ReceiptQuery{}); !audit.Unsatisfied.Is(f) {
		t.Errorf("an anchor that is not met: %+v", f)
	}
	w.anchors = nil
	w.rows[10].Detail = ""
	if f := ask("run_1", audit.ReceiptQuery{}); f.Kind != fault.Conflict {
		t.Errorf("an end that was erased: %+v", f)
	}
	w.edit(t, 7, func(l *leaf.Leaf) { l.Sub = "usr_9" })
	if f := ask("run_2", audit.ReceiptQuery{}); f == nil {
		t.Error("a changed row")
	}
}

func TestReceiptTooLong(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 0)
	belongs := func(l *leaf.Leaf, _ *audit.Stored) { l.Run = "run_3" }
	w.add(t, belongs)
	for range 10_000 {
		w.add(t, nil)
	}
	w.add(t, belongs)
	if _, err := w.prover().Receipt(t.Context(), "run_3", audit.ReceiptQuery{}); !audit.ReceiptTooLong.Is(err) {
		t.Errorf("%v", err)
	}
	got, err := w.prover().Receipt(t.Context(), "run_3", audit.ReceiptQuery{Sparse: true})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := proof.VerifyReceipt(t.Context(), bytes.NewReader(got.Body), w.trusted(), w.now); err != nil || !v.OK {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestReceiptWhileTheChainGrows finds an anchor that was made after the receipt's head was signed: this is not a
// truncated chain.
func TestReceiptWhileTheChainGrows(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.runs(t)
	signed := w.signed
	w.add(t, nil)
	w.seen(t, audit.KindWorker, int64(len(w.rows)))
	w.signed = signed
	got, err := w.prover().Receipt(t.Context(), "run_1", audit.ReceiptQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := proof.VerifyReceipt(t.Context(), bytes.NewReader(got.Body), w.trusted(), w.now); err != nil || !v.OK ||
		v.Size != int64(len(signed)) {
		t.Errorf("%+v, %v", v, err)
	}
	w.rows = w.rows[:len(signed)] // now it is truncated
	if _, err := w.prover().Receipt(t.Context(), "run_1", audit.ReceiptQuery{}); !audit.Unsatisfied.Is(err) {
		t.Errorf("%v", err)
	}
}

// TestReceiptOfWhatWasAltered refuses a receipt with altered private values.
func TestReceiptOfWhatWasAltered(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.runs(t)
	w.rows[5].Disclosures = w.rows[2].Disclosures
	if _, err := w.prover().Receipt(t.Context(), "run_1",
		audit.ReceiptQuery{Private: true, Sparse: true}); !audit.Broken.Is(err) {
		t.Errorf("%v", err)
	}
	if _, err := w.prover().Receipt(t.Context(), "run_1", audit.ReceiptQuery{}); err != nil {
		t.Errorf("%v", err)
	}
}

func TestSealIsStable(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.seen(t, audit.KindCheckpoint, 4)
	first, err := w.prover().Seal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keys.NewRing(w.keys...)
	if err != nil {
		t.Fatal(err)
	}
	seal, err := dsse.OpenSeal(first, ring)
	if err != nil || seal.InstallID != "in_test" || len(seal.Keys) != 2 ||
		!strings.HasPrefix(seal.Checkpoint, testOrigin+"\n4\n") {
		t.Fatalf("%+v, %v", seal, err)
	}
	w.add(t, nil)
	w.now = w.now.Add(1)
	if again, err := w.prover().Seal(t.Context()); err != nil || !bytes.Equal(first, again) {
		t.Errorf("%s\n%s\n%v", first, again, err)
	}
	w.seen(t, audit.KindCheckpoint, 6)
	if again, err := w.prover().Seal(t.Context()); err != nil || bytes.Equal(first, again) {
		t.Errorf("%v", err)
	}
}
