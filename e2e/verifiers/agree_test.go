package verifiers

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/depthtest"
)

// TestReceiptVectors compares all engines on every receipt of the vectors, and those with a configurable clock with
// the expected results.
func TestReceiptVectors(t *testing.T) {
	t.Parallel()
	var index struct {
		Receipts []struct {
			File, VKey, Now string
			From            *struct {
				Size int64
				Root string
			}
			Want struct {
				verdict
				Warned []string
				Failed string
			}
		}
	}
	decode(t, read(t, vectorDir, "receipts", "index.json"), &index)
	var timed, now []query
	for _, r := range index.Receipts {
		q := query{name: r.File, file: read(t, vectorDir, "receipts", r.File), now: r.Now}
		if r.VKey != "" {
			q.keys = []string{r.VKey}
		}
		if r.From != nil {
			q.from = fmt.Sprintf("%d:%s", r.From.Size, r.From.Root)
		}
		timed = append(timed, q)
		q.now = ""
		now = append(now, q)
	}
	if len(timed) < 50 {
		t.Fatalf("only %d receipts", len(timed))
	}
	b := theBrowser(t)
	agree(t, b, now)
	for name, list := range map[string][]verdict{"script": script(t, timed), "page": b.verify(t, timed)} {
		for i, got := range list {
			w := index.Receipts[i].Want
			failed := append(got.ended("failed"), "")[0]
			if got.Unknown || got.OK != w.OK || got.Pinned != w.Pinned || got.Reason != w.Reason || got.BrokeAt != w.BrokeAt ||
				got.BrokeSeq != w.BrokeSeq ||
				got.Count != w.Count || got.Size != w.Size || !slices.Equal(got.AnchorProblems, w.AnchorProblems) ||
				!slices.Equal(got.ended("warned"), w.Warned) || failed != w.Failed {
				t.Errorf("%s, %s:\ngot  %+v\nwant %+v", name, timed[i].name, got, w)
			}
		}
	}
}

// TestBundleVectors verifies the bundles of the vectors with keys and heads of all kinds.
func TestBundleVectors(t *testing.T) {
	t.Parallel()
	other := newSigner(9).vkey(origin)
	var all []query
	for _, name := range []string{"whole.json", "window.json", "withheld.json"} {
		file := read(t, vectorDir, "bundles", name)
		c := newChain(t, 14, nil)
		var doc struct{ Entries []struct{ Leaf string } }
		if decode(t, read(t, vectorDir, "bundles", "whole.json"), &doc); len(doc.Entries) != 12 {
			t.Fatalf("%d entries", len(doc.Entries))
		}
		for i, e := range doc.Entries {
			c.hashes[i] = leafHash(e.Leaf)
		}
		all = append(all, query{name: name + " pinned", file: file, keys: []string{vkey}}, query{name: name, file: file},
			query{name: name + " by another key", file: file, keys: []string{other}},
			query{name: name + " by one of two", file: file, keys: []string{other, vkey}},
			query{name: name + " and half a key", file: file, keys: []string{vkey[:20]}},
			query{name: name + " and no head", file: file, from: "7"},
			query{name: name + " and a head with a sign", file: file, from: "-1:" + strings.Split(c.head(1), ":")[1]},
			query{name: name + " and the root of another", file: file, keys: []string{vkey},
				from: "7:" + strings.Split(c.head(6), ":")[1]})
		for size := range 15 {
			all = append(all, query{name: fmt.Sprintf("%s from %d", name, size), file: file, keys: []string{vkey},
				from: c.head(size)})
		}
	}
	good := 0
	found := agree(t, theBrowser(t), all)
	for i, v := range processes(t, all) {
		if !equal(v, found[i]) {
			t.Errorf("%s: by a process of its own %+v, beside others %+v", all[i].name, v, found[i])
		}
	}
	for _, v := range found {
		if v.OK {
			good++
		}
	}
	// In their window the heads of 0, 2, 4 to 9 and 12 are known.
	if want := 3*3 + 13 + 2*9; good != want {
		t.Errorf("%d verify, want %d", good, want)
	}
}

// TestWindows verifies each window of chains of each small size, with anchors and proofs of each size.
func TestWindows(t *testing.T) {
	t.Parallel()
	var all []query
	for n := 1; n <= depthtest.Of(6, 9); n++ {
		c := newChain(t, n, nil)
		for from := 1; from <= n; from++ {
			for to := from; to <= n; to++ {
				w := c.window(from, to)
				w.older = (from*7 + to) % (n + 1)
				for size := range n + 1 {
					kind := []string{"head_file", "witness", "rfc3161"}[(size+from)%3]
					w.anchors = append(w.anchors, strings.Replace(c.anchor(size), "head_file", kind, 1))
				}
				all = append(all, query{name: fmt.Sprintf("%d to %d of %d", from, to, n), file: c.bundle(t, w),
					keys: []string{vkey}, from: c.head(from - 1)})
			}
		}
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if !v.OK || !v.Pinned {
			t.Errorf("%s: %+v", all[i].name, v)
		}
	}
}

// TestLeafVectors puts each leaf of the vectors into a bundle: the coordinates of the break show whether it was
// accepted.
func TestLeafVectors(t *testing.T) {
	t.Parallel()
	var list struct {
		Valid   []struct{ Name, Leaf string }
		Invalid []struct{ Name, Leaf, Base64, Code string }
	}
	decode(t, read(t, vectorDir, "leaves.json"), &list)
	c := newChain(t, 2, nil)
	frame := c.body(t, c.window(1, 2))
	put := func(name, leaf string) query {
		at := strings.Index(frame, `{"leaf":`) + len(`{"leaf":`)
		end := at + len(quote(c.leaves[0]))
		return query{name: name, file: sign(t, frame[:at]+escape(leaf)+frame[end:]), keys: []string{vkey}}
	}
	var all []query
	for _, l := range list.Valid {
		all = append(all, put("valid "+l.Name, l.Leaf))
	}
	for _, l := range list.Invalid {
		raw, err := base64.StdEncoding.DecodeString(l.Base64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, put("invalid "+l.Name, l.Leaf+string(raw)))
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if readable := v.Reason == "chain_break" && v.BrokeSeq > 0 || slices.Equal(v.ended("failed"), []string{"heads"}) ||
			v.BrokeAt == 2; readable != (i < len(list.Valid)) {
			t.Errorf("%s: %+v", all[i].name, v)
		}
	}
}

// escape encodes a string with the escapes of a leaf, whatever its bytes are.
func escape(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; c {
		case '"', '\\':
			b.Write([]byte{'\\', c})
		case '\b', '\t', '\n', '\f', '\r':
			b.Write([]byte{'\\', "btn_fr"[c-'\b']})
		default:
			if c < 0x20 {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	return b.String() + `"`
}

// TestDisclosureVectors puts disclosures into a chain whose leaf holds their digests.
func TestDisclosureVectors(t *testing.T) {
	t.Parallel()
	var list struct {
		Valid   []struct{ Case, Disclosure, Digest string }
		Invalid []struct{ Case, Disclosure, Code string }
		Match   []struct {
			Case, Code      string
			SD, Disclosures []string
			Missing         []string
		}
	}
	decode(t, read(t, vectorDir, "disclosures.json"), &list)
	var all []query
	var want []string
	put := func(name, result string, sd, open []string) {
		c := newChain(t, 1, func(int) map[string]any {
			if len(sd) == 0 {
				return nil
			}
			return map[string]any{"sd": sd}
		})
		c.open[0] = open
		all = append(all, query{name: name, file: c.bundle(t, c.window(1, 1)), keys: []string{vkey}})
		want = append(want, result)
	}
	for _, d := range list.Valid {
		put(d.Case, "passed", []string{d.Digest}, []string{d.Disclosure})
	}
	for _, d := range list.Invalid {
		put(d.Case, "failed", []string{digest(d.Disclosure)}, []string{d.Disclosure})
	}
	for _, m := range list.Match {
		result := "passed"
		if m.Code != "" {
			result = "failed"
		} else if len(m.Missing) > 0 {
			result = "warned"
		}
		put(m.Case, result, m.SD, m.Disclosures)
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if v.Reason != "format_invalid" && !slices.Contains(v.ended(want[i]), "disclosures") ||
			v.OK == (want[i] == "failed") {
			t.Errorf("%s, want %s: %+v", all[i].name, want[i], v)
		}
	}
}

// TestProofVectors puts the proofs of consistency into a bundle. The head is that of another tree than the entry's, so
// other steps fail; the tested step does not depend on them.
func TestProofVectors(t *testing.T) {
	t.Parallel()
	var list struct {
		Consistency []struct {
			Case, FromRoot, ToRoot, Code string
			From, To                     int64
			Proof                        []string
		}
	}
	text := read(t, vectorDir, "tree.json")
	decode(t, []byte(strings.NewReplacer("from_root", "FromRoot", "to_root", "ToRoot").Replace(string(text))), &list)
	c := newChain(t, 1, nil)
	var all []query
	var want []string
	for _, p := range list.Consistency {
		raw, err := base64.StdEncoding.DecodeString(p.ToRoot)
		if err != nil || p.To < 1 || p.From > p.To || p.To > 1<<31 {
			continue // no bundle can express this
		}
		w := c.window(1, 1)
		w.checkpoint = note(origin, int(p.To), raw, newSigner(1))
		proof, err := json.Marshal(append([]string{}, p.Proof...))
		if err != nil {
			t.Fatal(err)
		}
		member := fmt.Sprintf(`"anchors":[]%s,"consistency":{"from":%d,"root":%q,"proof":%s}`,
			map[bool]string{true: `,"inclusion":{"first":[],"last":[]}`}[p.To > 1], p.From, p.FromRoot, proof)
		text := strings.Replace(strings.Replace(c.body(t, w), `"anchors":[]`, member, 1), `"size":1,`,
			fmt.Sprintf(`"size":%d,`, p.To), 1)
		all = append(all, query{name: p.Case, file: sign(t, text), keys: []string{vkey}})
		want = append(want, map[bool]string{true: "passed", false: "failed"}[p.Code == ""])
	}
	if len(all) < 20 {
		t.Fatalf("only %d proofs", len(all))
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if v.Reason == "format_invalid" || !slices.Contains(v.ended(want[i]), "consistency") {
			t.Errorf("%s, want %s: %+v", all[i].name, want[i], v)
		}
	}
}

// digest returns the digest of a disclosure for a leaf.
func digest(disclosure string) string {
	sum := sha256.Sum256([]byte(disclosure))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// TestMutations changes single bytes of good files: none verifies.
func TestMutations(t *testing.T) {
	t.Parallel()
	each := depthtest.Of(40, 150)
	r := rand.New(rand.NewPCG(7, 12)) //nolint:gosec // the same files in each run
	files := map[string][]byte{
		"bundle":  read(t, vectorDir, "bundles", "window.json"),
		"receipt": read(t, vectorDir, "receipts", "good", "anchored.json"),
	}
	var all []query
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := files[name]
		for range each {
			bad, at, x := slices.Clone(file), r.IntN(len(file)), byte(1+r.IntN(255))
			bad[at] ^= x
			all = append(all, query{name: fmt.Sprintf("%s, byte %d xor %#x", name, at, x), file: bad, keys: []string{vkey}})
		}
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if v.OK {
			t.Errorf("%s verifies: %+v", all[i].name, v)
		}
	}
}
