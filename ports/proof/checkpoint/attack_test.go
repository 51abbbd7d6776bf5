package checkpoint

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// A12: two heads of one size with different roots, both well signed, are proof of misbehaviour.
func TestEquivocation(t *testing.T) {
	t.Parallel()
	p := signer(t, 1)
	trusted := ring(t, public(t, p))
	first, second := mustSign(t, head(7, "a"), p), mustSign(t, head(7, "b"), p)
	c, proven, err := Equivocation(first, second, trusted)
	if err != nil || !proven {
		t.Fatalf("proven %v, %v", proven, err)
	}
	if !bytes.Equal(c.First.Bytes, first) || !bytes.Equal(c.Second.Bytes, second) {
		t.Error("the notes are not kept as they were")
	}
	for name, other := range map[string][]byte{
		"the same head": first,
		"a larger head": mustSign(t, head(8, "b"), p),
	} {
		if _, proven, err := Equivocation(first, other, trusted); err != nil || proven {
			t.Errorf("%s: proven %v, %v", name, proven, err)
		}
	}
	_, proven, err = Equivocation(first, mustSign(t, head(7, "b"), signer(t, 2)), trusted)
	if proven {
		t.Error("a stranger's note proves misbehaviour")
	}
	refused(t, err, keys.KeyUntrusted)
	_, _, err = Equivocation(bytes.Replace(second, []byte("\n7\n"), []byte("\n8\n"), 1), first, trusted)
	refused(t, err, keys.SignatureInvalid)
}

// A13: a note by another key, whatever the file lists about that key.
func TestSwappedKeyIsUntrusted(t *testing.T) {
	t.Parallel()
	pinned, thief := public(t, signer(t, 1)), signer(t, 2)
	stolen := mustSign(t, head(3, "a"), thief)
	_, err := Open(stolen, ring(t, pinned))
	refused(t, err, keys.KeyUntrusted)
	_, err = Open(stolen, ring(t, pinned), public(t, thief).ID)
	refused(t, err, keys.KeyUntrusted)
	_, err = Open(stolen, keys.Ring{})
	refused(t, err, keys.KeyUntrusted)
	relabelled := bytes.Replace([]byte(baseNote), []byte("wvf4gPYw"), []byte("wvf4gPYx"), 1)
	_, err = Open(relabelled, ring(t, pinned))
	refused(t, err, keys.SignatureInvalid)
	elsewhere, err := pinned.Under("audit.example.org/in_other/e1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open([]byte(baseNote), ring(t, elsewhere))
	refused(t, err, keys.KeyUntrusted)
}

// A14: a key signs a tree for which it is not valid.
func TestKeysSpeakForTheirSizes(t *testing.T) {
	t.Parallel()
	p := signer(t, 1)
	for name, c := range map[string]struct {
		change func(*keys.Key)
		size   int64
		want   keys.Code
	}{
		"retired, its last size": {func(k *keys.Key) { k.Status, k.LastSize = keys.Retired, 100 }, 100, ""},
		"retired, a larger one":  {func(k *keys.Key) { k.Status, k.LastSize = keys.Retired, 100 }, 101, keys.KeyRetired},
		"revoked, trusted size":  {func(k *keys.Key) { k.Status, k.TrustedSize = keys.Revoked, 50 }, 50, ""},
		"revoked, a larger one":  {func(k *keys.Key) { k.Status, k.TrustedSize = keys.Revoked, 50 }, 51, keys.KeyUntrusted},
		"next":                   {func(k *keys.Key) { k.Status = keys.Next }, 1, keys.KeyUntrusted},
		"active, its first size": {func(k *keys.Key) { k.FirstSize = 10 }, 10, ""},
		"active, a smaller one":  {func(k *keys.Key) { k.FirstSize = 10 }, 9, keys.KeyUntrusted},
	} {
		k := public(t, p, c.change)
		_, err := Open(mustSign(t, head(c.size, "a"), p), ring(t, k), k.ID)
		if keys.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	// A second line by a valid key does not excuse a line by an invalid one.
	old := public(t, p, func(k *keys.Key) { k.Status, k.LastSize = keys.Retired, 100 })
	_, err := Open(mustSign(t, head(101, "a"), p, signer(t, 2)), ring(t, old, public(t, signer(t, 2))))
	refused(t, err, keys.KeyRetired)
}

// A21: each deviation of form is refused as such, before anything is verified.
func TestMalformedNotes(t *testing.T) {
	t.Parallel()
	k := public(t, signer(t, 1))
	text, line, _ := strings.Cut(baseNote, "\n\n")
	stranger := func(n int) string { return fmt.Sprintf("— stranger%d.example/x AAAAAQEBAQE=\n", n) }
	var many strings.Builder
	for i := range MaxLines {
		many.WriteString(stranger(i))
	}
	for name, bad := range map[string]string{
		"empty":               "",
		"carriage returns":    strings.ReplaceAll(baseNote, "\n", "\r\n"),
		"one carriage return": text + "\r\n\n" + line,
		"no empty line":       text + "\n" + line,
		"two empty lines":     text + "\n\n\n" + line,
		"no signature":        text + "\n\n",
		"no end":              strings.TrimSuffix(baseNote, "\n"),
		"key line twice":      baseNote + line,
		"stranger twice":      baseNote + stranger(1) + stranger(1),
		"stranger, other sig": baseNote + stranger(1) + "— stranger1.example/x AAAAAQEBAQI=\n",
		"leading zero":        strings.Replace(baseNote, "\n3\n", "\n03\n", 1),
		"17 lines":            baseNote + many.String(),
		"trailing text":       baseNote + "more\n",
		"trailing newline":    baseNote + "\n",
		"a second note":       baseNote + "\n" + baseNote,
		"extension line":      text + "\nmore\n\n" + line,
		"too large":           baseNote + "— s.example/x " + strings.Repeat("AAAA", MaxNote/4) + "\n",
		"tab":                 strings.Replace(baseNote, " wvf4", "\twvf4", 1),
		"two spaces":          strings.Replace(baseNote, " wvf4", "  wvf4", 1),
		"hyphen":              strings.Replace(baseNote, "— ", "- ", 1),
		"loose base64":        strings.Replace(baseNote, "7Ak=", "7Al=", 1),
		"no padding":          strings.Replace(baseNote, "7Ak=", "7Ak", 1),
		"hash alone":          baseNote + "— s.example/x AAAAAQ==\n",
		"plus in a name":      baseNote + "— s+x AAAAAQEBAQE=\n",
		"no UTF-8":            baseNote + "— s\xff AAAAAQEBAQE=\n",
	} {
		if _, err := Open([]byte(bad), ring(t, k)); !keys.FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := baseNote + strings.Join(strings.SplitAfter(many.String(), "\n")[1:], "")
	if s, err := Open([]byte(full), ring(t, k), k.ID); err != nil || len(s.By) != 1 {
		t.Errorf("16 lines, 15 of strangers: %+v, %v", s, err)
	}
}

// A22: a required line is removed.
func TestStrippedLine(t *testing.T) {
	t.Parallel()
	a, b := public(t, signer(t, 1)), public(t, signer(t, 2))
	both := mustSign(t, head(3, "a"), signer(t, 1), signer(t, 2))
	trusted := ring(t, a, b)
	if s, err := Open(both, trusted, a.ID, b.ID); err != nil || len(s.By) != 2 {
		t.Fatalf("both lines: %+v, %v", s, err)
	}
	lines := strings.SplitAfter(string(both), "\n")
	for i, missing := range []string{a.ID, b.ID} {
		stripped := strings.Join(append(append([]string{}, lines[:4+i]...), lines[5+i:]...), "")
		_, err := Open([]byte(stripped), trusted, a.ID, b.ID)
		refused(t, err, keys.SignatureInvalid)
		_, err = Open([]byte(stripped), trusted, missing)
		refused(t, err, keys.SignatureInvalid)
		if _, err := Open([]byte(stripped), trusted); err != nil {
			t.Errorf("without a need one line is enough: %v", err)
		}
	}
	text, _, _ := strings.Cut(baseNote, "\n\n")
	_, err := Open([]byte(text+"\n\n— witness.example/w AAAAAQEBAQE=\n"), trusted)
	refused(t, err, keys.SignatureInvalid)
}

func TestHandover(t *testing.T) {
	t.Parallel()
	p1, p2, p3 := signer(t, 1), signer(t, 2), signer(t, 3)
	old := public(t, p1, func(k *keys.Key) { k.Status, k.LastSize = keys.Retired, 10 })
	next := public(t, p2, func(k *keys.Key) { k.FirstSize = 10 })
	over, err := Handover(head(10, "a"), p1, p2)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := OpenHandover(over, old, next); err != nil || len(s.By) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	_, err = OpenHandover(mustSign(t, head(10, "a"), p2), old, next)
	refused(t, err, keys.SignatureInvalid)
	_, err = OpenHandover(mustSign(t, head(10, "a"), p1), old, next)
	refused(t, err, keys.SignatureInvalid)
	late, err := Handover(head(11, "a"), p1, p2)
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenHandover(late, old, next)
	refused(t, err, keys.KeyRetired)
	_, err = OpenHandover(over, old, public(t, p2, func(k *keys.Key) { k.FirstSize = 9 }))
	refused(t, err, keys.KeyUntrusted)

	// A chain of two handovers leads from the pinned key to the newest; a key without one is left out.
	next.Handover = string(over)
	next.Status, next.LastSize = keys.Retired, 20
	last, err := Handover(head(20, "b"), p2, p3)
	if err != nil {
		t.Fatal(err)
	}
	newest := public(t, p3, func(k *keys.Key) { k.FirstSize, k.Handover = 20, string(last) })
	stranger := public(t, signer(t, 4), func(k *keys.Key) { k.Handover = string(over) })
	got, err := Follow(ring(t, old), []keys.Key{newest, stranger, next, old})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Keys()) != 3 || !got.Has(newest.ID, keys.Checkpoint) || got.Has(stranger.ID, keys.Checkpoint) {
		t.Errorf("led to %v", got.Keys())
	}
}
