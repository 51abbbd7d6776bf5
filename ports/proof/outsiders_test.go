package proof

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/checkpoint/checkpointtest"
	"github.com/writ-automation/writ/ports/proof/receipt"
	"github.com/writ-automation/writ/ports/proof/timestamp/timestamptest"
)

const (
	textChecked   = "with a verified time-stamp token or witness cosignature"
	textUnchecked = "1 of them with a time-stamp token or witness cosignature that was not checked"
)

// TestOutsidersAreBelievedOnlyWhereChecked presents tokens and cosignatures to readers who trust their makers, trust
// others or trust none.
// Keeps T50.
func TestOutsidersAreBelievedOnlyWhereChecked(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	tsa, other := timestamptest.New(t), timestamptest.New(t)
	w1, w2, imposter := checkpointtest.NewWitness("w1.example/a", 7), checkpointtest.NewWitness("w2.example/b", 8),
		checkpointtest.NewWitness("w1.example/a", 9)
	stamped := r.seen(t, 12, bundle.KindTimestamp)
	stamped.Token = tsa.Stamp(t, []byte(stamped.Note), begin.Add(time.Minute))
	spoiled := stamped
	spoiled.Token = bytes.Clone(stamped.Token)
	spoiled.Token[len(spoiled.Token)-1] ^= 1 // of the signature
	cosigned, forged := r.seen(t, 12, bundle.KindWitness), r.seen(t, 12, bundle.KindWitness)
	cosigned.Note = w1.Cosign(t, cosigned.Note, begin)
	good := strings.TrimSuffix(w1.Cosign(t, forged.Note, begin), "\n")
	forged.Note = good[:len(good)-4] + "AAA=\n" // another signature of the same key
	for name, c := range map[string]struct {
		anchor receipt.Anchor
		trust  Trust
		detail string // empty where the anchor is refused
	}{
		"a token, nobody is known":        {stamped, Trust{}, textUnchecked},
		"a token, its root is known":      {stamped, Trust{TSARoots: append(other.PEM(), tsa.PEM()...)}, textChecked},
		"a token, another root is known":  {stamped, Trust{TSARoots: other.PEM()}, textUnchecked},
		"a spoiled token, nobody known":   {spoiled, Trust{}, textUnchecked},
		"a spoiled token, its root known": {spoiled, Trust{TSARoots: tsa.PEM()}, ""},
		"a line, nobody is known":         {cosigned, Trust{}, textUnchecked},
		"a line, its witness is known":    {cosigned, Trust{Witnesses: []string{w2.VKey(), w1.VKey()}}, textChecked},
		"a line, another one is known":    {cosigned, Trust{Witnesses: []string{w2.VKey()}}, textUnchecked},
		"a line, a namesake is known":     {cosigned, Trust{Witnesses: []string{imposter.VKey()}}, textUnchecked},
		"a forged line, its witness":      {forged, Trust{Witnesses: []string{w1.VKey()}}, ""},
		"a forged line, nobody is known":  {forged, Trust{}, textUnchecked},
	} {
		made := r.receipt(t, "run_1", receipt.Contiguous)
		made.Anchors = []receipt.Anchor{c.anchor}
		v := checkReceipt(t, r.sign(t, made), c.trust)
		detail := ""
		for _, got := range v.Checks {
			if got.ID == StepAnchors.ID() {
				detail = got.Detail
			}
		}
		if v.OK != (c.detail != "") || !strings.Contains(detail, c.detail) {
			t.Errorf("%s: %q in %+v", name, detail, v)
		}
		if c.detail == "" && (len(v.AnchorProblems) != 1 || v.AnchorProblems[0].Problem != BadSignature) {
			t.Errorf("%s: %+v", name, v)
		}
		if stated := strings.Contains(strings.Join(v.NotChecked, "\n"),
			"1 time-stamp tokens and witness cosignatures"); stated != (c.detail == textUnchecked) {
			t.Errorf("%s: %q", name, v.NotChecked)
		}
	}
	for _, bad := range []Trust{{TSARoots: []byte("x")}, {Witnesses: []string{"x"}},
		{Witnesses: []string{strings.Replace(w1.VKey(), "+", "+0", 1)}}} {
		if _, err := VerifyReceipt(t.Context(), strings.NewReader("x"), bad, begin); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestWitnessesOfABundle presents a bundle whose anchor was signed by a witness, or by another key under its name.
func TestWitnessesOfABundle(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 9)
	by := checkpointtest.NewWitness("w1.example/a", 7)
	a := w.anchor(t, 6)
	a.Kind = bundle.KindWitness
	for name, c := range map[string]struct {
		note   string
		detail string // empty where the anchor is refused
	}{
		"its line":       {by.Cosign(t, a.Note, begin), textChecked},
		"another note":   {a.Note + strings.TrimPrefix(by.Cosign(t, w.note(t, 7), begin), w.note(t, 7)), ""},
		"without a line": {a.Note, textUnchecked},
	} {
		h, anchor := w.whole(t), a
		anchor.Note = c.note
		h.Anchors = []bundle.Anchor{anchor}
		v := check(t, bytes.NewReader(w.write(t, h)), Trust{VKeys: w.trusted().VKeys, Witnesses: []string{by.VKey()}})
		if v.OK != (c.detail != "") || !strings.Contains(result(v, "heads").Detail, c.detail) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestVerifiedTimes moves the time at which a witness signed a head of 6 entries before and after the times of the
// entries. Files report the same conflict as the stored chain. Without the witness's key nothing is found.
func TestVerifiedTimes(t *testing.T) {
	t.Parallel()
	by := checkpointtest.NewWitness("w1.example/a", 7)
	r := newRuns(t)
	bundleOf := func(from, to int64) func(at time.Time) []byte {
		return func(at time.Time) []byte {
			h, a := r.window(t, from, to), r.anchor(t, 6)
			a.Kind, a.Note = bundle.KindWitness, by.Cosign(t, a.Note, at)
			h.Anchors = []bundle.Anchor{a}
			return r.write(t, h)
		}
	}
	receiptOf := func(mode receipt.Mode) func(at time.Time) []byte {
		return func(at time.Time) []byte {
			made, a := r.receipt(t, "run_1", mode), r.seen(t, 6, bundle.KindWitness)
			a.Note = by.Cosign(t, a.Note, at)
			made.Anchors = []receipt.Anchor{a}
			return r.sign(t, made)
		}
	}
	for name, c := range map[string]struct {
		file          func(at time.Time) []byte
		before, after string // the entries that conflict with a time that is too early and one that is too late
	}{
		"bundle": {bundleOf(1, r.size()), "entry 6", "entry 7"}, "window": {bundleOf(4, 9), "entry 6", "entry 7"},
		"window behind the head": {bundleOf(7, 9), "", "entry 7"},
		"receipt":                {receiptOf(receipt.Contiguous), "entry 6", "entry 7"},
		"sparse receipt":         {receiptOf(receipt.Sparse), "entry 4", "entry 7"},
	} {
		for shift, want := range map[time.Duration]string{10 * time.Second: "", -time.Hour: c.before, time.Hour: c.after} {
			doc := c.file(begin.Add(shift))
			for _, trust := range []Trust{{}, {Witnesses: []string{by.VKey()}}} {
				trust.VKeys = r.trusted().VKeys
				verify := VerifyBundle
				if strings.HasSuffix(name, "receipt") {
					verify = VerifyReceipt
				}
				v, err := verify(t.Context(), bytes.NewReader(doc), trust, begin.Add(24*time.Hour))
				conflict := want != "" && trust.Witnesses != nil
				if err != nil || v.OK == conflict || conflict && (v.Reason != AnchorUnsatisfied ||
					len(v.AnchorProblems) != 1 || v.AnchorProblems[0].Problem != TimeConflict || v.AnchorProblems[0].Size != 6 ||
					!strings.HasSuffix(result(v, "times").Detail, ", "+want)) {
					t.Errorf("%s, shifted by %s, %d witnesses: %+v %v", name, shift, len(trust.Witnesses), v, err)
				}
			}
		}
	}
}
