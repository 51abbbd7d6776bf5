package proof

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/receipt"
	"github.com/writ-automation/writ/ports/proof/timestamp/timestamptest"
)

// testWitness is a C2SP witness.
type testWitness struct {
	name string
	key  ed25519.PrivateKey
}

func newTestWitness(name string, seed byte) testWitness {
	return testWitness{name, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}
}

func (w testWitness) material() []byte {
	return append([]byte{4}, w.key.Public().(ed25519.PublicKey)...)
}

func (w testWitness) hash() []byte {
	sum := sha256.Sum256(append([]byte(w.name+"\n"), w.material()...))
	return sum[:4]
}

func (w testWitness) vkey() string {
	return w.name + "+" + hex.EncodeToString(w.hash()) + "+" + base64.StdEncoding.EncodeToString(w.material())
}

// cosign returns the note with the line of the witness.
func (w testWitness) cosign(t testing.TB, note string, at int64) string {
	t.Helper()
	n, err := checkpoint.Parse([]byte(note))
	if err != nil {
		t.Fatal(err)
	}
	text, err := n.Text()
	if err != nil {
		t.Fatal(err)
	}
	sig := binary.BigEndian.AppendUint64(w.hash(), uint64(at))
	sig = append(sig, ed25519.Sign(w.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text))...)
	return note + "\u2014 " + w.name + " " + base64.StdEncoding.EncodeToString(sig) + "\n"
}

const (
	wordChecked   = "by the word of somebody outside who is believed"
	wordUnchecked = "without the word of somebody outside on 1 of them, which was not checked"
)

// TestOutsidersAreBelievedOnlyWhereChecked presents tokens and cosignatures to readers who know their makers, know others or
// know nobody.
func TestOutsidersAreBelievedOnlyWhereChecked(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	tsa, other := timestamptest.New(t), timestamptest.New(t)
	w1, w2, imposter := newTestWitness("w1.example/a", 7), newTestWitness("w2.example/b", 8), newTestWitness("w1.example/a", 9)
	stamped := r.seen(t, 12, bundle.KindTimestamp)
	stamped.Token = tsa.Stamp(t, []byte(stamped.Note), begin.Add(time.Minute))
	spoiled := stamped
	spoiled.Token = bytes.Clone(stamped.Token)
	spoiled.Token[len(spoiled.Token)-1] ^= 1 // of the signature
	cosigned, forged := r.seen(t, 12, bundle.KindWitness), r.seen(t, 12, bundle.KindWitness)
	cosigned.Note = w1.cosign(t, cosigned.Note, begin.Unix())
	good := strings.TrimSuffix(w1.cosign(t, forged.Note, begin.Unix()), "\n")
	forged.Note = good[:len(good)-4] + "AAA=\n" // another signature of the same key
	for name, c := range map[string]struct {
		anchor receipt.Anchor
		trust  Trust
		detail string // empty where the anchor is refused
	}{
		"a token, nobody is known":        {stamped, Trust{}, wordUnchecked},
		"a token, its root is known":      {stamped, Trust{TSARoots: append(other.PEM(), tsa.PEM()...)}, wordChecked},
		"a token, another root is known":  {stamped, Trust{TSARoots: other.PEM()}, wordUnchecked},
		"a spoiled token, nobody known":   {spoiled, Trust{}, wordUnchecked},
		"a spoiled token, its root known": {spoiled, Trust{TSARoots: tsa.PEM()}, ""},
		"a line, nobody is known":         {cosigned, Trust{}, wordUnchecked},
		"a line, its witness is known":    {cosigned, Trust{Witnesses: []string{w2.vkey(), w1.vkey()}}, wordChecked},
		"a line, another one is known":    {cosigned, Trust{Witnesses: []string{w2.vkey()}}, wordUnchecked},
		"a line, a namesake is known":     {cosigned, Trust{Witnesses: []string{imposter.vkey()}}, wordUnchecked},
		"a forged line, its witness":      {forged, Trust{Witnesses: []string{w1.vkey()}}, ""},
		"a forged line, nobody is known":  {forged, Trust{}, wordUnchecked},
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
		if said := strings.Contains(strings.Join(v.NotChecked, "\n"), "1 time-stamp tokens and cosignatures"); said != (c.detail == wordUnchecked) {
			t.Errorf("%s: %q", name, v.NotChecked)
		}
	}
	for _, bad := range []Trust{{TSARoots: []byte("x")}, {Witnesses: []string{"x"}}, {Witnesses: []string{strings.Replace(w1.vkey(), "+", "+0", 1)}}} {
		if _, err := VerifyReceipt(t.Context(), strings.NewReader("x"), bad, begin); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
