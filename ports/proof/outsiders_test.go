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
	textChecked   = "by the word of somebody outside who is believed"
	textUnchecked = "without the word of somebody outside on 1 of them, which was not checked"
)

// TestOutsidersAreBelievedOnlyWhereChecked presents tokens and cosignatures to readers who know their makers, know
// others or know nobody.
func TestOutsidersAreBelievedOnlyWhereChecked(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	tsa, other := timestamptest.New(t), timestamptest.New(t)
	w1, w2, imposter := checkpointtest.NewWitness("w1.example/a", 7), checkpointtest.NewWitness("w2.example/b", 8), checkpointtest.NewWitness("w1.example/a", 9)
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
		if stated := strings.Contains(strings.Join(v.NotChecked, "\n"), "1 time-stamp tokens and cosignatures"); stated != (c.detail == textUnchecked) {
			t.Errorf("%s: %q", name, v.NotChecked)
		}
	}
	for _, bad := range []Trust{{TSARoots: []byte("x")}, {Witnesses: []string{"x"}}, {Witnesses: []string{strings.Replace(w1.VKey(), "+", "+0", 1)}}} {
		if _, err := VerifyReceipt(t.Context(), strings.NewReader("x"), bad, begin); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestWitnessesOfABundle presents a bundle whose anchor a witness signed, or somebody in its name.
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
