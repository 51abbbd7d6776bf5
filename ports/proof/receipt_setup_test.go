package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

// runs is a chain of 14 entries: run_1 with 3, 4, 7 to 9 and 11, of which 7 and 8 are those of its child run_2; run_3
// with 5, 6 and 10, which does not end.
type runs struct {
	*fixture
	docs map[string]json.RawMessage
}

func newRuns(t testing.TB) runs {
	t.Helper()
	r := runs{fixture: newFixture(t, 0), docs: map[string]json.RawMessage{}}
	for i, e := range [][3]string{
		{"svc.genesis"}, {"user.create", "user/usr_2"}, {"run.submit", "run/run_1", "run_1"},
		{"run.start", "run/run_1", "run_1"},
		{"run.submit", "run/run_3", "run_3"}, {"run.start", "run/run_3", "run_3"}, {"run.start", "run/run_2", "run_1"},
		{"run.final", "run/run_2", "run_1"},
		{"run.cancel", "run/run_1", "run_1"}, {"run.cancel", "run/run_3", "run_3"}, {"run.final", "run/run_1", "run_1"},
		{"run.cancel", "run/run_3"}, {"auth.login", "user/usr_2"}, {"audit.beat"},
	} {
		r.entries = append(r.entries, entry(t, int64(i+1), func(l *leaf.Leaf) {
			l.Act, l.Obj, l.Run = e[0], e[1], e[2]
			if e[0] == "run.final" {
				l.Det = r.end(t, e[1][len("run/"):])
			}
		}))
		r.link(t, i)
	}
	for _, id := range []string{"run_3"} {
		doc, err := receipt.Open(id, "running")
		if err != nil {
			t.Fatal(err)
		}
		r.docs[id] = doc
	}
	return r
}

// end makes the document of a run's end.
func (r runs) end(t testing.TB, id string) (det string) {
	t.Helper()
	var own receipt.Count
	for _, e := range r.entries {
		l, err := leaf.Scan(e.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		if receipt.Belongs(id, l.Run, l.Obj) {
			own.Add(leaf.Hash(e.Leaf))
		}
	}
	digest := own.Own()
	doc, err := keys.Encode(map[string]any{
		"v": 1, "id": id, "kind": "ansible", "status": "succeeded", "exit_code": "0", "approvers": []string{"usr_2"},
		"entries": map[string]any{"count": digest.Count, "digest": "sha256:" + hex.EncodeToString(digest.Digest[:])},
		"log":     map[string]any{"bytes": 120, "sha256": hex.EncodeToString(bytes.Repeat([]byte{7}, 32))},
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(doc)
	r.docs[id] = doc
	return "sha256:" + hex.EncodeToString(sum[:])
}

// receipt makes the receipt of a run from the current chain.
func (r runs) receipt(t testing.TB, id string, mode receipt.Mode) receipt.Receipt {
	t.Helper()
	out := receipt.Receipt{
		Origin: testOrigin, Mode: mode, Scope: mode.Scope(), Run: r.docs[id], Checkpoint: r.note(t, r.size()), Keys: r.listed,
	}
	first, last := int64(0), int64(0)
	for i, e := range r.entries {
		l, err := leaf.Scan(e.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		if receipt.Belongs(id, l.Run, l.Obj) {
			if first == 0 {
				first = int64(i + 1)
			}
			last = int64(i + 1)
		}
	}
	for seq := first; seq <= last; seq++ {
		e := r.entries[seq-1]
		l, err := leaf.Scan(e.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		if mode == receipt.Sparse && !receipt.Belongs(id, l.Run, l.Obj) {
			continue
		}
		made := receipt.Entry{Index: seq - 1, Leaf: string(e.Leaf), Disclosures: e.Disclosures}
		if mode == receipt.Sparse || seq == first || seq == last {
			made.Proven, made.Proof = true, r.inclusion(t, seq)
		}
		out.Entries = append(out.Entries, made)
	}
	return out
}

func (r runs) seen(t testing.TB, size int64, kind string) receipt.Anchor {
	t.Helper()
	a := receipt.Anchor{ID: "anc_" + kind, Kind: kind, Size: size, Note: r.note(t, size),
		Proof: r.consistency(t, size).Proof}
	if kind == bundle.KindTimestamp {
		a.Token = token(t, []byte(a.Note), begin.Add(time.Minute))
	}
	return a
}

func (r runs) sign(t testing.TB, made receipt.Receipt) []byte {
	t.Helper()
	doc, err := receipt.Sign(made, r.passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// resign signs a statement that was changed in the text of its payload.
func (r runs) resign(t testing.TB, doc []byte, change func(payload string) string) []byte {
	t.Helper()
	e, err := dsse.Parse(doc, dsse.StatementType)
	if err != nil {
		t.Fatal(err)
	}
	payload := change(string(e.Payload))
	if payload == string(e.Payload) {
		t.Fatal("nothing was changed")
	}
	if e, err = dsse.Sign(dsse.StatementType, []byte(payload), r.passphrase); err != nil {
		t.Fatal(err)
	}
	out, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkReceipt(t testing.TB, doc []byte, trust Trust) Verdict {
	t.Helper()
	v, err := VerifyReceipt(t.Context(), bytes.NewReader(doc), trust, begin.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// token makes a time-stamp response without a signature.
func token(t testing.TB, data []byte, at time.Time) []byte {
	t.Helper()
	type algorithm struct{ Algorithm asn1.ObjectIdentifier }
	type imprint struct {
		Algorithm algorithm
		Sum       []byte
	}
	sum := sha256.Sum256(data)
	sha := algorithm{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}}
	info := must(t, struct {
		Version int
		Policy  asn1.ObjectIdentifier
		Imprint imprint
		Serial  int
		Time    time.Time `asn1:"generalized"`
	}{1, asn1.ObjectIdentifier{1, 2, 3}, imprint{sha, sum[:]}, 7, at})
	type content struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}
	zero := func(der []byte) asn1.RawValue {
		return asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: der}
	}
	signed := must(t, struct {
		Version  int
		Digests  []algorithm `asn1:"set"`
		Contents content
		Signers  []algorithm `asn1:"set"`
	}{3, []algorithm{sha}, content{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}, zero(must(t, info))}, nil})
	return must(t, struct {
		Status struct{ Status int }
		Token  content
	}{Token: content{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}, zero(signed)}})
}

func must(t testing.TB, v any) []byte {
	t.Helper()
	der, err := asn1.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
