package prove

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/checkpoint/checkpointtest"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/timestamp/timestamptest"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// TestTimeConflict backdates entries before and after a head that a trusted or an untrusted outsider saw.
func TestTimeConflict(t *testing.T) {
	t.Parallel()
	tsa, witness := timestamptest.New(t), checkpointtest.NewWitness("witness.example/w", 7)
	believed, err := proof.ParseOutsiders(tsa.PEM(), []string{witness.VKey()})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at   time.Duration // of the head, after begin
		want string
		seq  string
	}{
		"agrees": {10 * time.Second, "", ""}, "older than what it saw": {-time.Hour, "/6/time_conflict", "entry 6"},
		"what follows is older": {time.Hour, "/6/time_conflict", "entry 7"},
	} {
		for _, kind := range []string{audit.KindWitness, audit.KindTimestamp} {
			w := newFixture(t, 12)
			for _, seq := range []int64{5, 8} {
				w.edit(t, seq, func(l *leaf.Leaf) { l.Act, l.Obj, l.Run = "run.start", "run/run_9", "run_9" })
			}
			w.forgeEntry(t, 5)
			a := w.seen(t, kind, 6)
			if kind == audit.KindWitness {
				a.Note = witness.Cosign(t, a.Note, begin.Add(c.at))
			} else {
				a.Evidence = tsa.Stamp(t, []byte(a.Note), begin.Add(c.at))
			}
			unchecked := func(v audit.ChainVerdict) bool {
				return strings.Contains(strings.Join(v.NotChecked, "\n"), "1 time-stamp tokens and witness cosignatures")
			}
			if v := check(t, w); !v.OK || v.Anchored != 0 || !unchecked(v) ||
				!strings.Contains(detail(v.Verdict, "heads"), "0 heads") {
				t.Errorf("%s %s, nobody is believed: %+v", kind, name, v)
			}
			w.believed = believed
			want := c.want
			if want != "" {
				want = kind + want
			}
			v := check(t, w)
			if problems(v.Verdict) != want || v.OK != (want == "") || !strings.Contains(detail(v.Verdict, "times"), c.seq) ||
				v.Anchored != 6 || unchecked(v) {
				t.Errorf("%s %s: %+v", kind, name, v)
			}
			if want != "" && v.Reason != proof.AnchorUnsatisfied {
				t.Errorf("%s %s: %+v", kind, name, v)
			}
			_, err := w.prover().Receipt(t.Context(), "run_9", audit.ReceiptQuery{})
			if audit.Unsatisfied.Is(err) != (want != "") || err != nil && want == "" {
				t.Errorf("%s %s, a receipt: %v", kind, name, err)
			}
		}
	}
}

// TestPrivateValues edits, deletes and erases private parts. A bundle is refused with the same coordinates, with or
// without private values, for a window and as tiles.
func TestPrivateValues(t *testing.T) {
	t.Parallel()
	erase := func(t *testing.T, w *fixture, seqs string) {
		w.add(t, func(l *leaf.Leaf, s *audit.Stored) {
			s.Detail = `{"ground":"gdpr_17","salt":"x","seqs":[` + seqs + `]}`
			l.Act, l.Det = string(audit.AuditErase), digest(sha256.Sum256([]byte(s.Detail)))
		})
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, w *fixture)
		seq    int64
		detail string
	}{
		"as recorded":          {func(*testing.T, *fixture) {}, 0, "passed: 4 private values match their recorded digests"},
		"edited":               {func(_ *testing.T, w *fixture) { w.rows[5].Disclosures = w.rows[2].Disclosures }, 6, ""},
		"one too many":         {func(_ *testing.T, w *fixture) { w.rows[3].Disclosures = w.rows[2].Disclosures }, 4, ""},
		"unreadable":           {func(_ *testing.T, w *fixture) { w.rows[5].Disclosures = []string{"!"} }, 6, ""},
		"a detail edited":      {func(_ *testing.T, w *fixture) { w.rows[9].Detail += " " }, 10, ""},
		"a detail of no entry": {func(_ *testing.T, w *fixture) { w.rows[3].Detail = "{}" }, 4, ""},
		"withheld": {func(_ *testing.T, w *fixture) { w.rows[5].Disclosures = nil }, 0,
			"withheld: 1 values of 1 entries are missing, and no entry records their erasure; the first is entry 6"},
		"erased": {func(t *testing.T, w *fixture) {
			w.rows[5].Disclosures, w.rows[9].Detail = nil, ""
			erase(t, w, "6,10")
		}, 0, "passed: 3 private values match their recorded digests; erased: 2 (by entry 11)"},
		"erased and withheld": {func(t *testing.T, w *fixture) {
			w.rows[2].Disclosures, w.rows[5].Disclosures = nil, nil
			erase(t, w, "3")
		}, 0, "erased: 1 (by entry 11); withheld: 1 values of 1 entries are missing, and no entry records their erasure; " +
			"the first is entry 6"},
		"an erasure that is forged": {func(t *testing.T, w *fixture) {
			w.rows[2].Disclosures = nil
			erase(t, w, "4")
			w.rows[10].Detail = strings.Replace(w.rows[10].Detail, "4", "3", 1)
		}, 11, ""},
	} {
		w := newFixture(t, 9)
		w.add(t, func(l *leaf.Leaf, s *audit.Stored) {
			s.Detail = `{"a":"b","salt":"c"}`
			l.Det = digest(sha256.Sum256([]byte(s.Detail)))
		})
		w.rows[3].Disclosures = nil
		c.change(t, w)
		w.signed = w.rows
		v := check(t, w)
		if v.OK != (c.seq == 0) || v.BrokeAt != c.seq || v.BrokeSeq != c.seq || v.OK != (v.Reason != proof.ChainBreak) {
			t.Errorf("%s: %+v", name, v)
		}
		if !strings.Contains(detail(v.Verdict, "disclosures"), c.detail) {
			t.Errorf("%s: %s", name, detail(v.Verdict, "disclosures"))
		}
		for _, q := range []audit.BundleQuery{{Private: true}, {}, {From: 1, To: 2}, {Tiles: true}} {
			_, err := w.prover().Bundle(t.Context(), q)
			var f *fault.Error
			if c.seq == 0 && err != nil || c.seq > 0 &&
				(!audit.Broken.Is(err) || !errors.As(err, &f) || f.Detail["broke_at"] != c.seq || f.Detail["broke_seq"] != c.seq) {
				t.Errorf("%s, bundle %+v: %v", name, q, err)
			}
		}
	}
}

// TestTrustOverAStore verifies a stored chain with a reader's keys, heads and logs.
func TestTrustOverAStore(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 12)
	w.seen(t, audit.KindCheckpoint, 10)
	stranger, err := keys.Generate(keys.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	other, err := keys.NewKey(stranger.Public(), keys.Checkpoint, testOrigin)
	if err != nil {
		t.Fatal(err)
	}
	at := func(size int64) *proof.Head { return &proof.Head{Size: size, Root: root(w.rows[:size])} }
	held := func(trust proof.Trust) audit.ChainVerdict {
		t.Helper()
		v, err := w.prover().Verify(t.Context(), trust)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	known := held(w.trusted())
	pins, err := proof.Pin(nil, known.Verdict)
	if err != nil || !known.Pinned || known.Size != 10 || known.Count != 12 {
		t.Fatalf("%+v, %v", known, err)
	}
	for name, c := range map[string]struct {
		trust    proof.Trust
		reason   proof.Reason
		pinned   bool
		problems string
	}{
		"its key":          {w.trusted(), "", true, ""},
		"another key":      {proof.Trust{VKeys: []string{other.VKey}}, proof.KeyUntrusted, false, ""},
		"a head of it":     {proof.Trust{From: at(7)}, "", false, ""},
		"the present head": {proof.Trust{From: at(12)}, "", false, ""},
		"the empty head":   {proof.Trust{From: &proof.Head{Root: tree.EmptyRoot()}}, "", false, ""},
		"another head": {proof.Trust{From: &proof.Head{Size: 7}}, proof.AnchorUnsatisfied, false,
			"from/7/root_mismatch"},
		"a head beyond": {proof.Trust{From: &proof.Head{Size: 13}}, proof.AnchorUnsatisfied, false,
			"from/13/tail_missing"},
		"the log was met":   {proof.Trust{Known: pins}, "", true, ""},
		"met, with an edge": {proof.Trust{Known: pins, From: at(11)}, "", true, ""},
		"met in another form": {proof.Trust{Known: []byte(strings.Replace(string(pins), " 10 ", " 9 ", 1))},
			proof.AnchorUnsatisfied, true, "pin/9/root_mismatch"},
	} {
		if v := held(c.trust); v.Reason != c.reason || v.OK != (c.reason == "") || v.Pinned != c.pinned ||
			problems(v.Verdict) != c.problems {
			t.Errorf("%s: %q %+v", name, problems(v.Verdict), v)
		}
	}
	w.rows = w.rows[:8]
	if v := held(proof.Trust{Known: pins}); v.OK || !strings.Contains(problems(v.Verdict), "pin/10/tail_missing") {
		t.Errorf("%+v", v)
	}
	if _, err := w.prover().Verify(t.Context(), proof.Trust{VKeys: []string{"x"}}); err == nil {
		t.Error("a key that is none is taken")
	}
}
