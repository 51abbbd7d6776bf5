package proof

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

// seal publishes keys with a head of this size.
func (w *fixture) seal(t testing.TB, size int64, listed []keys.Key, signers ...keys.Signer) []byte {
	t.Helper()
	out, err := dsse.SignSeal(keys.Seal{
		Service: keys.Product{Name: "writ", Version: "1"}, InstallID: "in_test", Origin: testOrigin, Epoch: 1,
		Epochs: []keys.Epoch{{N: 1, FirstSeq: 1}},
		Keys:   listed, Checkpoint: w.note(t, size, signers...), Formats: []string{bundle.MediaType}, UpdatedAt: begin,
	}, w.passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rotated returns the listed keys of the install after a handover at a size, and the new pair.
func (w *fixture) rotated(t testing.TB, size int64) (listed []keys.Key, head, text keys.Private) {
	t.Helper()
	head, text = private(t, 21, keys.Checkpoint), private(t, 22, keys.Statement)
	listed = append(slices.Clone(w.listed), public(t, head), public(t, text))
	for i := range listed[:2] {
		listed[i].Status, listed[i].LastSize = keys.Retired, size
	}
	listed[2].FirstSize, listed[3].FirstSize = size, size
	listed[2].Handover = w.note(t, size, w.head, head)
	return listed, head, text
}

// stranger is an install that shares only the origin with the first one.
func stranger(t testing.TB, n int) *fixture {
	t.Helper()
	w := newFixture(t, 0)
	w.head, w.passphrase = private(t, 7, keys.Checkpoint), private(t, 8, keys.Statement)
	w.listed = []keys.Key{public(t, w.head), public(t, w.passphrase)}
	for i := 1; i <= n; i++ {
		w.entries = append(w.entries, entry(t, int64(i), nil))
	}
	w.link(t, 0)
	return w
}

func (w *fixture) bundle(t testing.TB) []byte { return w.write(t, w.whole(t)) }

func verdictOf(t testing.TB, doc []byte, trust Trust) Verdict {
	t.Helper()
	v, err := VerifyFile(t.Context(), bytes.NewReader(doc), trust, begin.Add(1e15))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSeals(t *testing.T) {
	t.Parallel()
	w, other := newFixture(t, victims), stranger(t, victims)
	listed, head, text := w.rotated(t, 6)
	after := *w
	after.head, after.passphrase, after.listed = head, text, listed
	early := *w
	early.entries = w.entries[:5]
	before, later := w.seal(t, 4, w.listed), after.seal(t, victims, listed)
	revoked := slices.Clone(listed)
	revoked[0].Status, revoked[0].LastSize, revoked[0].TrustedSize = keys.Revoked, 0, 6
	for name, c := range map[string]struct {
		doc    []byte
		seal   []byte
		reason Reason
	}{
		"its own":                                       {w.bundle(t), before, ""},
		"of another install":                            {w.bundle(t), other.seal(t, victims, other.listed), KeyUntrusted},
		"from before a rotation":                        {after.bundle(t), before, ""},
		"from after a rotation":                         {after.bundle(t), later, ""},
		"of a file from before the rotation":            {early.bundle(t), later, ""},
		"of a key that signs on after it was retired":   {w.bundle(t), later, KeyRetired},
		"of a key that signs on after it was revoked":   {w.bundle(t), after.seal(t, victims, revoked), KeyUntrusted},
		"of a key that signed before it was revoked":    {early.bundle(t), after.seal(t, victims, revoked), ""},
		"of a revoked key that handed over before that": {after.bundle(t), after.seal(t, victims, revoked), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := verdictOf(t, c.doc, Trust{Seal: c.seal})
			if v.OK != (c.reason == "") || v.Reason != c.reason || v.OK && !v.Pinned ||
				v.Pinned && result(v, "trust").Result != Passed {
				t.Errorf("%+v", v)
			}
		})
	}
	for _, bad := range [][]byte{{}, []byte("{}"), before[:len(before)-1],
		bytes.Replace(before, []byte(`"in_test"`), []byte(`"in_tesT"`), 1)} {
		if _, err := VerifyFile(t.Context(), bytes.NewReader(w.bundle(t)), Trust{Seal: bad}, begin); err == nil {
			t.Errorf("a seal of %.40q is taken", bad)
		}
	}
}

// TestSealsContainTheirHead stores a seal and then presents another history by the same keys.
func TestSealsContainTheirHead(t *testing.T) {
	t.Parallel()
	w, fork := newFixture(t, victims), forked(t, victims)
	seal := w.seal(t, 8, w.listed)
	v := verdictOf(t, fork.bundle(t), Trust{Seal: seal})
	if ends(t, v, AnchorUnsatisfied, 0, 0); problems(v) != "seal/8/root_mismatch" || len(v.Conflict) != 2 ||
		v.Conflict[0] != w.note(t, 8) || v.Conflict[1] != fork.note(t, victims) {
		t.Errorf("%+v", v)
	}
	if v = verdictOf(t, w.bundle(t), Trust{Seal: seal}); !v.OK || result(v, "known").Result != Passed {
		t.Errorf("%+v", v)
	}
	if v = verdictOf(t, w.write(t, w.window(t, 10, 11)), Trust{Seal: seal}); !v.OK || result(v, "known").ID != "" ||
		!slices.ContainsFunc(v.NotChecked, func(s string) bool { return strings.Contains(s, "the head in the seal") }) {
		t.Errorf("%+v", v)
	}
}

// forked is another history that the same keys signed.
func forked(t testing.TB, n int) *fixture {
	t.Helper()
	w := newFixture(t, 0)
	for i := 1; i <= n; i++ {
		w.entries = append(w.entries, entry(t, int64(i), nil))
	}
	w.link(t, 0)
	w.entries[1] = entry(t, 2, nil)
	w.entries[1].Leaf = bytes.Replace(w.entries[1].Leaf, []byte("usr_1"), []byte("usr_9"), 1)
	w.link(t, 1)
	return w
}

// TestEachTokenCounts passes trusted data of several kinds. A key that one of them does not trust is not trusted.
func TestEachTokenCounts(t *testing.T) {
	t.Parallel()
	w, other := newFixture(t, victims), stranger(t, victims)
	own, alien := w.trusted().VKeys[0], other.trusted().VKeys[0]
	known := func(of *fixture) []byte {
		line, err := keys.Pin{Origin: testOrigin, KeyID: of.listed[0].ID}.Line()
		if err != nil {
			t.Fatal(err)
		}
		return []byte(line)
	}
	known0 := func(of *fixture) []byte { // with the root of no entries, which every chain goes on from
		return bytes.Replace(known(of), bytes.TrimSpace(bytes.SplitN(known(of), []byte(" 0 "), 2)[1]),
			[]byte("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), 1)
	}
	for name, c := range map[string]struct {
		trust  Trust
		reason Reason
	}{
		"a key and its seal": {Trust{VKeys: []string{own}, Seal: w.seal(t, 4, w.listed)}, ""},
		"a key and another seal": {Trust{VKeys: []string{own}, Seal: other.seal(t, 4, other.listed)},
			KeyUntrusted},
		"another key and the seal":          {Trust{VKeys: []string{alien}, Seal: w.seal(t, 4, w.listed)}, KeyUntrusted},
		"one of two keys":                   {Trust{VKeys: []string{alien, own}}, ""},
		"a pin":                             {Trust{Known: known0(w)}, ""},
		"a key and its pin":                 {Trust{VKeys: []string{own}, Known: known0(w)}, ""},
		"a key and a pin of another one":    {Trust{VKeys: []string{own}, Known: known0(other)}, KeyUntrusted},
		"a seal and a pin of another one":   {Trust{Seal: w.seal(t, 4, w.listed), Known: known0(other)}, KeyUntrusted},
		"a pin of another key of this log":  {Trust{Known: known0(other)}, KeyUntrusted},
		"a pin of the same key, other root": {Trust{Known: known(w)}, AnchorUnsatisfied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v := verdictOf(t, w.bundle(t), c.trust); v.Reason != c.reason || v.OK != (c.reason == "") || v.OK && !v.Pinned {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestStatementKeysAreNotForTheFileToChoose signs true entries with a key that only the file lists. The validity that
// the file claims for its checkpoint key does not change that.
func TestStatementKeysAreNotForTheFileToChoose(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	r.link(t, 0)
	n := r.size()
	seal := r.seal(t, n, r.listed)
	first := verdictOf(t, r.bundle(t), Trust{})
	pins, err := Pin(nil, first)
	if err != nil {
		t.Fatal(err)
	}
	thief := private(t, 9, keys.Statement)
	forge := func(change func(k *keys.Key)) (file, signed []byte) {
		f := runs{fixture: &fixture{head: r.head, passphrase: thief, entries: r.entries, roots: r.roots, nodes: r.nodes},
			docs: r.docs}
		f.listed = []keys.Key{r.listed[0], r.listed[1], public(t, thief)}
		change(&f.listed[0])
		return f.bundle(t), f.sign(t, f.receipt(t, "run_1", receipt.Sparse))
	}
	for name, change := range map[string]func(k *keys.Key){
		"as it is":          func(*keys.Key) {},
		"as a retired one":  func(k *keys.Key) { k.Status, k.LastSize = keys.Retired, n },
		"as a revoked one":  func(k *keys.Key) { k.Status, k.TrustedSize = keys.Revoked, n },
		"as one that comes": func(k *keys.Key) { k.Status = keys.Next },
	} {
		file, signed := forge(change)
		for what, trust := range map[string]Trust{"a seal": {Seal: seal}, "a pin": {Known: pins}} {
			if v := verdictOf(t, file, trust); v.OK || result(v, "manifest").Result != Failed {
				t.Errorf("%s, listed %s: a bundle is %+v", what, name, v)
			}
			if v := verdictOf(t, signed, trust); v.OK || result(v, "signature").Result != Failed {
				t.Errorf("%s, listed %s: a receipt is %+v", what, name, v)
			}
		}
	}
	for _, trust := range []Trust{{Seal: seal}, {Known: pins}} {
		v := verdictOf(t, r.bundle(t), trust)
		if !v.OK || slices.Contains(v.NotChecked, ownKey) {
			t.Errorf("%+v", v)
		}
	}
	// A later pair comes with the file, since statement keys have no handover.
	listed, head, text := r.rotated(t, n-2)
	after := *r.fixture
	after.head, after.passphrase, after.listed = head, text, listed
	for _, trust := range []Trust{{Seal: seal}, {Known: pins}} {
		v := verdictOf(t, after.bundle(t), trust)
		if !v.OK || !v.Pinned || !slices.Contains(v.NotChecked, ownKey) {
			t.Errorf("%+v", v)
		}
	}
	// The note of the handover has the lines of both pairs: this is no reason to trust a key that the seal lacks.
	both := *r.fixture
	both.entries, both.passphrase, both.listed = r.entries[:n-2], text, listed
	h := both.whole(t)
	h.Checkpoint = r.note(t, n-2, r.head, head)
	if v := verdictOf(t, both.write(t, h), Trust{Seal: r.seal(t, 4, r.listed)}); v.OK {
		t.Errorf("%+v", v)
	}
}
