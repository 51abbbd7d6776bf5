package proof

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

func pin(t testing.TB, text []byte, v Verdict) []byte {
	t.Helper()
	out, err := Pin(text, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// first is the fixture with fewer entries.
func (w *fixture) first(n int64) *fixture {
	early := *w
	early.entries = w.entries[:n]
	return &early
}

func sizes(t testing.TB, text []byte) (out []int64) {
	t.Helper()
	pins, err := keys.ParseKnown(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pins {
		out = append(out, p.Size)
	}
	return out
}

func TestPinsFollowALog(t *testing.T) {
	t.Parallel()
	w := newFixture(t, victims)
	const foreign = "# mine\n\nother.example.org/x/e1 " +
		"sha256:0000000000000000000000000000000000000000000000000000000000000000 7 " +
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n# the end\n"
	known := []byte(foreign)
	for i, n := range []int64{5, 9, 3, victims} {
		v := verdictOf(t, w.first(n).bundle(t), Trust{Known: known})
		if !v.OK || v.Pinned != (i > 0) {
			t.Fatalf("%+v", v)
		}
		if c := result(v, "known"); (n == 3) != (c.Result == Warned) || n == 3 && !strings.HasPrefix(c.Detail, "stale") {
			t.Errorf("A18, with %d entries: %+v", n, c)
		}
		known = pin(t, known, v)
		if want := []int64{7, max(n, 5), max(n, 5)}; n != 3 && !slices.Equal(sizes(t, known), want) ||
			n == 3 && !slices.Equal(sizes(t, known), []int64{7, 9, 9}) {
			t.Errorf("%v, want %v", sizes(t, known), want)
		}
		if again := pin(t, known, v); !bytes.Equal(again, known) {
			t.Errorf("the same once more changes\n%s\nto\n%s", known, again)
		}
	}
	if !strings.HasPrefix(string(known), foreign) || strings.Count(string(known), noteMark) != 1 {
		t.Errorf("%s", known)
	}
}

// TestPinsDoNotMoveToUnprovenHeads presents a fork in files that do not show where it left the pinned history.
func TestPinsDoNotMoveToUnprovenHeads(t *testing.T) {
	t.Parallel()
	w, fork := newRuns(t), newRuns(t)
	fork.entries[1] = entry(t, 2, nil)
	fork.link(t, 1)
	known := pin(t, nil, verdictOf(t, w.first(9).bundle(t), Trust{}))
	for name, doc := range map[string][]byte{
		"a window":                    fork.write(t, fork.window(t, 12, 13)),
		"a receipt":                   fork.sign(t, fork.receipt(t, "run_3", receipt.Sparse)),
		"a receipt from another head": fork.sign(t, fork.since(t, 4)),
	} {
		v := verdictOf(t, doc, Trust{Known: known, From: &Head{Root: w.roots[0]}})
		if !v.OK || !v.Pinned || result(v, "known").Result != Warned {
			t.Errorf("%s: %+v", name, v)
		}
		if after := pin(t, known, v); !bytes.Equal(after, known) {
			t.Errorf("%s moves the pin to\n%s", name, after)
		}
	}
	for name, doc := range map[string][]byte{"the chain": fork.bundle(t),
		"a receipt from that head": fork.sign(t, fork.since(t, 9))} {
		v := verdictOf(t, doc, Trust{Known: known})
		if v.OK || v.Reason != AnchorUnsatisfied || problems(v) != "pin/9/root_mismatch" {
			t.Errorf("%s: %+v", name, v)
		}
		if after := pin(t, known, v); !bytes.Equal(after, known) {
			t.Errorf("%s moves the pin to\n%s", name, after)
		}
	}
	good := verdictOf(t, w.sign(t, w.since(t, 9)), Trust{Known: known})
	if after := pin(t, known, good); !good.OK || sizes(t, after)[0] != w.size() {
		t.Errorf("a receipt that shows how it goes on: %+v\n%s", good, after)
	}
}

func (r runs) since(t testing.TB, size int64) receipt.Receipt {
	t.Helper()
	out := r.receipt(t, "run_3", receipt.Sparse)
	out.Consistency = &receipt.Consistency{From: size, Proof: r.consistency(t, size).Proof}
	return out
}

// TestAForkIsProven presents a log of the same size with another root: both notes are kept (A12).
func TestAForkIsProven(t *testing.T) {
	t.Parallel()
	w, fork := newFixture(t, victims), forked(t, victims)
	known := pin(t, nil, verdictOf(t, w.bundle(t), Trust{}))
	v := verdictOf(t, fork.bundle(t), Trust{Known: known})
	if ends(t, v, AnchorUnsatisfied, 0, 0); problems(v) != "pin/12/root_mismatch" ||
		!slices.Equal(v.Conflict, []string{w.note(t, victims), fork.note(t, victims)}) {
		t.Fatalf("%+v", v)
	}
	if c := result(v, "known"); c.Result != Failed || !strings.Contains(c.Detail, "the root ") {
		t.Errorf("%+v", c)
	}
	// A file of pins has no note: then the parts of the head in the pin are used.
	bare := slices.Concat(bytes.SplitAfter(known, []byte("\n"))[1:]...)
	if v = verdictOf(t, fork.bundle(t), Trust{Known: bare}); v.OK || len(v.Conflict) != 2 ||
		v.Conflict[0] != strings.SplitN(w.note(t, victims), "\n\n", 2)[0]+"\n" {
		t.Errorf("%+v", v)
	}
	// A note without a trusted signature proves nothing.
	thief := stranger(t, victims)
	thief.entries = fork.entries
	thief.link(t, 0)
	if v = verdictOf(t, thief.bundle(t), Trust{Known: known}); v.OK || v.Reason != KeyUntrusted || len(v.Conflict) > 0 {
		t.Errorf("%+v", v)
	}
}

func TestPinsOfARotation(t *testing.T) {
	t.Parallel()
	w := newFixture(t, victims)
	known := pin(t, nil, verdictOf(t, w.first(5).bundle(t), Trust{}))
	listed, head, text := w.rotated(t, 6)
	after := *w
	after.head, after.passphrase, after.listed = head, text, listed
	v := verdictOf(t, after.bundle(t), Trust{Known: known})
	if !v.OK || !v.Pinned {
		t.Fatalf("%+v", v)
	}
	if known = pin(t, known, v); !slices.Equal(sizes(t, known), []int64{5, 5, victims, victims}) {
		t.Errorf("%s", known)
	}
	// An old file of the former key pair is outdated but valid. A file of the former pair beyond the handover is
	// invalid.
	if v = verdictOf(t, w.first(5).bundle(t), Trust{Known: known}); !v.OK || !v.Pinned {
		t.Errorf("%+v", v)
	}
}

func TestAnotherEpochIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t, victims)
	_, known, _ := strings.Cut(string(pin(t, nil, verdictOf(t, w.bundle(t), Trust{}))), "\n") // without the note
	known = strings.ReplaceAll(known, testOrigin+" ", strings.TrimSuffix(testOrigin, "1")+"2 ")
	v := verdictOf(t, w.bundle(t), Trust{Known: []byte(known)})
	if c := result(v, "trust"); !v.OK || v.Pinned || c.Result != Warned ||
		!strings.Contains(c.Detail, "another epoch of this log was recorded earlier") {
		t.Errorf("%+v", v)
	}
	both := pin(t, []byte(known), v)
	if !strings.HasPrefix(string(both), known) || len(sizes(t, both)) != 4 {
		t.Errorf("%s", both)
	}
	k, err := w.listed[0].Under(strings.TrimSuffix(testOrigin, "1") + "2")
	if err != nil {
		t.Fatal(err)
	}
	v = verdictOf(t, w.bundle(t), Trust{VKeys: []string{k.VKey}})
	if ends(t, v, KeyUntrusted, 0, 0); !strings.Contains(result(v, "trust").Detail, "another epoch needs") {
		t.Errorf("%+v", v)
	}
}

func TestPinRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	w, fork := newFixture(t, victims), forked(t, victims)
	v := verdictOf(t, w.bundle(t), Trust{})
	one, two := string(pin(t, nil, v)), string(pin(t, nil, verdictOf(t, fork.bundle(t), Trust{})))
	for name, bad := range map[string]string{
		"no line": "nonsense\n", "cut off": strings.TrimSuffix(one, "\n"),
		"a carriage return": strings.ReplaceAll(one, "\n", "\r\n"), "twice": one + one,
		"no UTF-8": "# \xff\n", "a sign": strings.Replace(one, " 12 ", " +12 ", 1), "too large": strings.Repeat("#\n", 1<<20),
		"two histories": one + strings.ReplaceAll(two, w.listed[0].ID, "sha256:"+strings.Repeat("0", 64)),
	} {
		if got, err := Pin([]byte(bad), v); err == nil {
			t.Errorf("%s: %s", name, got)
		}
		if _, err := VerifyFile(t.Context(), bytes.NewReader(w.bundle(t)), Trust{Known: []byte(bad)}, begin); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	// An invalid note in a comment is ignored.
	for _, odd := range []string{noteMark + "\n", noteMark + "AAAA\n", noteMark + "%%%\n", "#note\n"} {
		if out := pin(t, []byte(odd), v); !strings.HasPrefix(string(out), odd) {
			t.Errorf("%q is lost: %s", odd, out)
		}
	}
}

// TestPinKeepsEverythingElse checks for any accepted file: only the pins of the log change, none gets a smaller size,
// and the output is accepted again.
func TestPinKeepsEverythingElse(t *testing.T) {
	t.Parallel()
	w := newFixture(t, victims)
	v := verdictOf(t, w.bundle(t), Trust{})
	rapid.Check(t, func(rt *rapid.T) {
		v := v
		v.Size = rapid.Int64Range(0, 20).Draw(rt, "size")
		v.Checks = []Check{{ID: "known", Result: rapid.SampledFrom([]Result{Passed, Warned}).Draw(rt, "known")}}
		v.SignedBy = rapid.SliceOfN(rapid.SampledFrom(ids(4)), 0, 3).Draw(rt, "signed by")
		var text strings.Builder
		had := map[string]int64{}
		for i, id := range ids(4) {
			origin := rapid.SampledFrom([]string{testOrigin, "a/b/e1"}).Draw(rt, "origin")
			switch rapid.IntRange(0, 3).Draw(rt, "line") {
			case 0:
				fmt.Fprintf(&text, "# %d\n\n", i)
			case 1, 2:
				size := rapid.Int64Range(0, 20).Draw(rt, "pinned")
				line, err := keys.Pin{Origin: origin, KeyID: id, Size: size, Root: v.Root}.Line()
				if err != nil {
					rt.Fatal(err)
				}
				text.WriteString(line)
				had[origin+" "+id] = size
			}
		}
		out, err := Pin([]byte(text.String()), v)
		if err != nil {
			rt.Fatal(err)
		}
		pins, err := parsePins(out)
		if err != nil {
			rt.Fatalf("%v\n%s", err, out)
		}
		for _, p := range pins {
			if size, ok := had[p.Origin+" "+p.KeyID]; ok && (p.Size < size || p.Origin != testOrigin && p.Size != size) {
				rt.Fatalf("%d became %d\n%s\n%s", size, p.Size, text.String(), out)
			}
			delete(had, p.Origin+" "+p.KeyID)
		}
		if len(had) > 0 || strings.Count(text.String(), "# ") != strings.Count(string(out), "# ") {
			rt.Fatalf("lost: %v\n%s", had, out)
		}
	})
}

func ids(n int) (out []string) {
	for i := range n {
		out = append(out, "sha256:"+strings.Repeat(fmt.Sprint(i), 64))
	}
	return out
}
