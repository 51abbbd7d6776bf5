package proof

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

// vector is a line of receipts/index.json.
type vector struct {
	File string      `json:"file"`
	VKey string      `json:"vkey,omitempty"`
	From *vectorHead `json:"from,omitempty"`
	Now  string      `json:"now"`
	Want wanted      `json:"want"`

	doc []byte
}

type vectorHead struct {
	Size int64  `json:"size"`
	Root string `json:"root"`
}

// wanted is the result that every verifier has to find.
type wanted struct {
	OK       bool            `json:"ok"`
	Pinned   bool            `json:"pinned"`
	Reason   Reason          `json:"reason,omitempty"`
	BrokeAt  int64           `json:"broke_at"`
	BrokeSeq int64           `json:"broke_seq"`
	Count    int64           `json:"count"`
	Size     int64           `json:"size"`
	Problems []AnchorProblem `json:"anchor_problems"`
	Warned   []string        `json:"warned"` // ids of checks
	Failed   string          `json:"failed,omitempty"`
}

// attack is an invalid receipt that its server signs.
type attack struct {
	name   string
	run    string
	mode   receipt.Mode
	spoil  func(t *testing.T, r runs, made *receipt.Receipt)
	reason Reason
	check  string
	at     int64
	seq    int64
}

func TestReceiptVectors(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	list := append(goodVectors(t, r), badVectors(t, r)...)
	dir := filepath.Join("testdata", "receipts")
	for i := range list {
		v := &list[i]
		trust := Trust{}
		if v.VKey != "" {
			trust.VKeys = []string{v.VKey}
		}
		if v.From != nil {
			root, err := keys.ParseRoot(v.From.Root)
			if err != nil {
				t.Fatal(err)
			}
			trust.From = &Head{Size: v.From.Size, Root: root}
		}
		v.Now = leaf.At(begin.Add(24 * time.Hour))
		got := checkReceipt(t, v.doc, trust)
		for _, c := range got.Checks {
			switch {
			case c.Result == Warned:
				v.Want.Warned = append(v.Want.Warned, c.ID)
			case c.Result == Failed && v.Want.Failed == "":
				v.Want.Failed = c.ID
			}
		}
		if got.OK != (v.Want.Reason == "") || got.Reason != v.Want.Reason || got.BrokeAt != v.Want.BrokeAt ||
			got.BrokeSeq != v.Want.BrokeSeq {
			t.Errorf("%s: %+v", v.File, got)
		}
		v.Want.OK, v.Want.Pinned, v.Want.Count, v.Want.Size, v.Want.Problems = got.OK, got.Pinned, got.Count, got.Size,
			got.AnchorProblems
		save(t, filepath.Join(dir, v.File), v.doc)
	}
	index, err := json.MarshalIndent(map[string]any{
		"note": "Receipts with what every verifier has to find in them.", "receipts": list,
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	save(t, filepath.Join(dir, "index.json"), append(index, '\n'))
}

// save compares a stored file with the generated one, and writes it with -update.
func save(t *testing.T, path string, made []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, made, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(stored, made) {
		t.Fatalf("%s is not what is written, %v; run: go test ./ports/proof -update\n%s", path, err,
			cmp.Diff(string(stored), string(made)))
	}
}

func (r runs) headOf(size int64) *vectorHead {
	return &vectorHead{Size: size, Root: base64.StdEncoding.EncodeToString(r.roots[size][:])}
}

func goodVectors(t *testing.T, r runs) []vector {
	t.Helper()
	vkey := r.listed[0].VKey
	anchored := r.receipt(t, "run_1", receipt.Contiguous)
	anchored.Anchors = []receipt.Anchor{r.seen(t, 4, bundle.KindWorker), r.seen(t, 12, bundle.KindTimestamp),
		r.seen(t, 14, bundle.KindHeadFile)}
	from := r.receipt(t, "run_1", receipt.Sparse)
	from.Consistency = &receipt.Consistency{From: 6, Proof: r.consistency(t, 6).Proof}
	zero := r.receipt(t, "run_1", receipt.Sparse)
	zero.Consistency = &receipt.Consistency{}
	withheld := r.receipt(t, "run_1", receipt.Contiguous)
	for i := range withheld.Entries {
		withheld.Entries[i].Disclosures = nil
	}
	one := runs{fixture: newFixture(t, 0), docs: map[string]json.RawMessage{"run_3": r.docs["run_3"]}}
	one.entries = append(one.entries, entry(t, 1, func(l *leaf.Leaf) { l.Obj, l.Run = "run/run_3", "run_3" }))
	one.link(t, 0)
	return []vector{
		{File: "good/contiguous.json", VKey: vkey, doc: r.sign(t, r.receipt(t, "run_1", receipt.Contiguous))},
		{File: "good/sparse.json", VKey: vkey, doc: r.sign(t, r.receipt(t, "run_1", receipt.Sparse))},
		{File: "good/unpinned.json", doc: r.sign(t, r.receipt(t, "run_1", receipt.Sparse))},
		{File: "good/anchored.json", VKey: vkey, doc: r.sign(t, anchored)},
		{File: "good/from.json", VKey: vkey, From: r.headOf(6), doc: r.sign(t, from)},
		{File: "good/from-unknown.json", VKey: vkey, doc: r.sign(t, from)},
		{File: "good/from-zero.json", VKey: vkey, From: r.headOf(0), doc: r.sign(t, zero)},
		{File: "good/from-present.json", VKey: vkey, From: r.headOf(14),
			doc: r.sign(t, r.receipt(t, "run_1", receipt.Sparse))},
		{File: "good/child.json", VKey: vkey, doc: r.sign(t, r.receipt(t, "run_2", receipt.Contiguous))},
		{File: "good/running.json", VKey: vkey, doc: r.sign(t, r.receipt(t, "run_3", receipt.Contiguous))},
		{File: "good/running-sparse.json", VKey: vkey, doc: r.sign(t, r.receipt(t, "run_3", receipt.Sparse))},
		{File: "good/withheld.json", VKey: vkey, doc: r.sign(t, withheld)},
		{File: "good/one-leaf.json", VKey: vkey, doc: one.sign(t, one.receipt(t, "run_3", receipt.Sparse))},
	}
}

// edit changes the text of a leaf.
func edit(i int, from, to string) func(*testing.T, runs, *receipt.Receipt) {
	return func(t *testing.T, _ runs, made *receipt.Receipt) {
		changed := strings.Replace(made.Entries[i].Leaf, from, to, 1)
		if changed == made.Entries[i].Leaf {
			t.Fatalf("%q is not in %s", from, changed)
		}
		made.Entries[i].Leaf = changed
	}
}

// entryAttacks change entries and their places.
func entryAttacks() []attack {
	both := []receipt.Mode{receipt.Contiguous, receipt.Sparse}
	return []attack{
		{"a01-edited", "run_1", both[0], edit(3, "usr_1", "usr_9"), ChainBreak, "entries", 5, 7},
		{"a01-edited-first", "run_1", both[0], edit(0, "usr_1", "usr_9"), ChainBreak, "entries", 2, 4},
		{"a01-edited-last", "run_1", both[0], edit(8, "usr_1", "usr_9"), ProofInvalid, "inclusion", 0, 0},
		{"a01-edited-sparse", "run_3", both[1], edit(2, "usr_1", "usr_9"), ProofInvalid, "inclusion", 0, 0},
		{"a01-edited-neighbour", "run_3", both[1], edit(0, "usr_1", "usr_9"), ChainBreak, "entries", 2, 6},
		{"a04-deleted", "run_1", both[0], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Entries = slices.Delete(made.Entries, 3, 4)
		}, ChainBreak, "entries", 4, 7},
		{"a06-swapped", "run_1", both[0], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Entries[3], made.Entries[4] = made.Entries[4], made.Entries[3]
		}, ChainBreak, "entries", 4, 7},
		{"a06-swapped-sparse", "run_1", both[1], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Entries[3], made.Entries[4] = made.Entries[4], made.Entries[3]
		}, ChainBreak, "entries", 5, 8},
		{"a06-other-index", "run_1", both[1], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Entries[1].Index = 4
		}, ChainBreak, "entries", 2, 4},
		{"a07-empty", "run_1", both[0], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Entries[3].Leaf = ""
		}, ChainBreak, "entries", 0, 0},
		{"a07-white-space", "run_1", both[0], edit(3, `,"seq"`, `, "seq"`), ChainBreak, "entries", 0, 0},
		{"a27-key-twice", "run_1", both[1], edit(1, `{"act"`, `{"act":"x.y","act"`), ChainBreak, "entries", 0, 0},
		{"a27-large-number", "run_1", both[1], edit(1, `"seq":4`, `"seq":9007199254740993`), ChainBreak, "entries", 0, 0},
		{"a27-escape", "run_1", both[1], edit(1, `usr_1`, `\u0075sr_1`), ChainBreak, "entries", 0, 0},
		{"a27-surrogate", "run_1", both[1], edit(1, `usr_1`, `\ud800`), ChainBreak, "entries", 0, 0},
		{"foreign-entry", "run_3", both[1], func(t *testing.T, r runs, made *receipt.Receipt) {
			made.Entries = append(made.Entries, r.receipt(t, "run_1", receipt.Sparse).Entries[5])
		}, ProofInvalid, "entries", 0, 0},
		{"foreign-end", "run_3", both[0], func(t *testing.T, r runs, made *receipt.Receipt) {
			made.Entries = append(made.Entries, r.receipt(t, "run_1", receipt.Contiguous).Entries[8])
			made.Entries[5].Proven, made.Entries[5].Proof = false, nil
		}, ProofInvalid, "entries", 0, 0},
	}
}

// proofAttacks change the data around the entries.
func proofAttacks() []attack {
	both := []receipt.Mode{receipt.Contiguous, receipt.Sparse}
	return []attack{
		{"a12-other-root", "run_1", both[1], func(t *testing.T, r runs, made *receipt.Receipt) {
			r.roots = slices.Clone(r.roots)
			other := *r.fixture
			other.roots = slices.Clone(r.roots)
			other.roots[14][0] ^= 1
			made.Checkpoint = other.note(t, 14)
		}, ProofInvalid, "inclusion", 0, 0},
		{"a14-retired", "run_1", both[1], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Keys = slices.Clone(made.Keys)
			made.Keys[0].Status, made.Keys[0].LastSize = keys.Retired, 13
		}, KeyRetired, "checkpoint", 0, 0},
		{"a14-retired-statement", "run_1", both[1], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Keys = slices.Clone(made.Keys)
			made.Keys[1].Status, made.Keys[1].LastSize = keys.Retired, 13
		}, KeyRetired, "signature", 0, 0},
		{"a17-other-run", "run_1", both[1], func(_ *testing.T, r runs, made *receipt.Receipt) {
			made.Run = json.RawMessage(strings.Replace(string(r.docs["run_2"]), "run_2", "run_1", 1))
		}, ProofInvalid, "subject", 0, 0},
		{"a17-end-invented", "run_3", both[1], func(_ *testing.T, r runs, made *receipt.Receipt) {
			made.Run = json.RawMessage(strings.Replace(string(r.docs["run_1"]), "run_1", "run_3", 1))
		}, ProofInvalid, "subject", 0, 0},
		{"a17-end-hidden", "run_1", both[1], func(t *testing.T, _ runs, made *receipt.Receipt) {
			doc, err := receipt.Open("run_1", "running")
			if err != nil {
				t.Fatal(err)
			}
			made.Run = doc
		}, ProofInvalid, "subject", 0, 0},
		{"a19-left-out", "run_1", both[1], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Entries = slices.Delete(made.Entries, 1, 2)
		}, ProofInvalid, "completeness", 0, 0},
		{"a19-first-left-out", "run_1", both[0], func(t *testing.T, r runs, made *receipt.Receipt) {
			made.Entries = made.Entries[1:]
			made.Entries[0].Proven, made.Entries[0].Proof = true, r.inclusion(t, 4)
		}, ProofInvalid, "completeness", 0, 0},
		{"a20-other-proof", "run_1", both[1], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Entries[1].Proof = made.Entries[0].Proof
		}, ProofInvalid, "inclusion", 0, 0},
		{"a20-short", "run_1", both[0], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Entries[0].Proof = made.Entries[0].Proof[1:]
		}, ProofInvalid, "inclusion", 0, 0},
		{"a20-long", "run_1", both[0], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Entries[8].Proof = append(slices.Clone(made.Entries[8].Proof), [32]byte{})
		}, ProofInvalid, "inclusion", 0, 0},
		{"a20-anchor-short", "run_1", both[0], func(t *testing.T, r runs, made *receipt.Receipt) {
			made.Anchors = []receipt.Anchor{r.seen(t, 5, bundle.KindWorker)}
			made.Anchors[0].Proof = made.Anchors[0].Proof[1:]
		}, ProofInvalid, "anchors", 0, 0},
		{"consistency-long", "run_1", both[1], func(t *testing.T, r runs, made *receipt.Receipt) {
			made.Consistency = &receipt.Consistency{From: 6, Proof: append(r.consistency(t, 6).Proof, [32]byte{})}
		}, ProofInvalid, "consistency", 0, 0},
		{"consistency-beyond", "run_1", both[1], func(_ *testing.T, _ runs, made *receipt.Receipt) {
			made.Consistency = &receipt.Consistency{From: 15}
		}, ProofInvalid, "consistency", 0, 0},
		{"anchor-root", "run_1", both[1], func(t *testing.T, r runs, made *receipt.Receipt) {
			made.Anchors = []receipt.Anchor{r.seen(t, 5, bundle.KindWitness)}
			made.Anchors[0].Proof[0][0] ^= 1
		}, AnchorUnsatisfied, "anchors", 0, 0},
		{"anchor-token", "run_1", both[1], func(t *testing.T, r runs, made *receipt.Receipt) {
			made.Anchors = []receipt.Anchor{r.seen(t, 5, bundle.KindTimestamp)}
			made.Anchors[0].Token = token(t, []byte("something else"), begin)
		}, AnchorUnsatisfied, "anchors", 0, 0},
		{"anchor-token-form", "run_1", both[1], func(t *testing.T, r runs, made *receipt.Receipt) {
			made.Anchors = []receipt.Anchor{r.seen(t, 5, bundle.KindTimestamp)}
			made.Anchors[0].Token = []byte{0x30, 0}
		}, AnchorUnsatisfied, "anchors", 0, 0},
		{"anchor-ahead", "run_1", both[1], func(t *testing.T, r runs, made *receipt.Receipt) {
			ahead := *r.fixture
			ahead.roots = append(slices.Clone(r.roots), [32]byte{9})
			made.Anchors = []receipt.Anchor{{ID: "anc_ahead", Kind: bundle.KindHeadFile, Size: 15, Note: ahead.note(t, 15)}}
		}, AnchorUnsatisfied, "anchors", 0, 0},
		{"anchor-stranger", "run_1", both[1], func(t *testing.T, r runs, made *receipt.Receipt) {
			made.Anchors = []receipt.Anchor{r.seen(t, 5, bundle.KindPublish)}
			made.Anchors[0].Note = r.note(t, 5, private(t, 7, keys.Checkpoint))
		}, AnchorUnsatisfied, "anchors", 0, 0},
		{"a23-altered", "run_1", both[1], func(t *testing.T, _ runs, made *receipt.Receipt) {
			text, err := disclosure.Disclosure{Salt: [16]byte{3}, Name: disclosure.SubName, Value: "Eve"}.Encode()
			if err != nil {
				t.Fatal(err)
			}
			made.Entries[0].Disclosures = []string{text}
		}, ProofInvalid, "disclosures", 0, 0},
	}
}

func badVectors(t *testing.T, r runs) []vector {
	t.Helper()
	vkey := r.listed[0].VKey
	var out []vector
	for _, a := range append(entryAttacks(), proofAttacks()...) {
		made := r.receipt(t, a.run, a.mode)
		a.spoil(t, r, &made)
		out = append(out, vector{File: "bad/" + a.name + ".json", VKey: vkey, doc: r.sign(t, made), Want: wanted{
			Reason: a.reason, Failed: a.check, BrokeAt: a.at, BrokeSeq: a.seq,
		}})
	}
	good := r.sign(t, r.receipt(t, "run_1", receipt.Sparse))
	add := func(name string, doc []byte, reason Reason, from *vectorHead) {
		out = append(out, vector{File: "bad/" + name + ".json", VKey: vkey, doc: doc, From: from,
			Want: wanted{Reason: reason}})
	}
	thief := runs{fixture: newFixture(t, 0), docs: r.docs}
	thief.head, thief.passphrase = private(t, 7, keys.Checkpoint), private(t, 8, keys.Statement)
	thief.listed, thief.entries = []keys.Key{public(t, thief.head), public(t, thief.passphrase)}, r.entries
	thief.link(t, 0)
	add("a13-other-keys", thief.sign(t, thief.receipt(t, "run_1", receipt.Sparse)), KeyUntrusted, nil)
	foreign := r
	copied := *r.fixture
	copied.passphrase, foreign.fixture = thief.passphrase, &copied
	add("signed-by-stranger", foreign.sign(t, r.receipt(t, "run_1", receipt.Sparse)), KeyUntrusted, nil)
	add("signature-altered", bytes.Replace(good, []byte(`"sig":"`), []byte(`"sig":"AAAA`), 1), SignatureInvalid, nil)
	other := newFixture(t, 6)
	from := r.receipt(t, "run_1", receipt.Sparse)
	from.Consistency = &receipt.Consistency{From: 6, Proof: r.consistency(t, 6).Proof}
	wrong := &vectorHead{Size: 6, Root: base64.StdEncoding.EncodeToString(other.roots[6][:])}
	add("a12-from-other-root", r.sign(t, from), AnchorUnsatisfied, wrong)
	add("a18-stale", good, AnchorUnsatisfied, &vectorHead{Size: 20, Root: wrong.Root})
	add("from-not-shown", good, ProofInvalid, r.headOf(6))
	for name, swap := range map[string][2]string{
		"a21-carriage-return": {`e1\n14\n`, `e1\r\n14\n`}, "a21-no-empty-line": {`\n\n— audit`, `\n— audit`},
		"a21-zero-in-size": {`e1\n14\n`, `e1\n014\n`},
		"a27-member-twice": {`"mode":"sparse"`, `"mode":"sparse","mode":"sparse"`}, "a27-float": {`"index":2`, `"index":2.0`},
		"a27-number":        {`"index":2,`, `"index":9007199254740993,`},
		"a27-ascii-escaped": {`"mode":"sparse"`, `"mode":"s\u0070arse"`},
		"a27-half-pair":     {`"scope":"`, `"scope":"\ud800`}, "space": {`"mode":"sparse"`, `"mode": "sparse"`},
		"unknown-member":  {`"origin":`, `"n":1,"origin":`},
		"unknown-mode":    {`"mode":"sparse"`, `"mode":"some"`},
		"version":         {`,"v":1},"predicateType"`, `,"v":2},"predicateType"`},
		"no-proof":        {`"mode":"contiguous"`, `"mode":"sparse"`},
		"other-predicate": {`receipt/v1`, `bundle/v1`},
	} {
		doc := good
		if name == "no-proof" {
			doc = r.sign(t, r.receipt(t, "run_1", receipt.Contiguous))
		}
		add(name, r.resign(t, doc, func(p string) string {
			return strings.Replace(p, swap[0], swap[1], 1)
		}), FormatInvalid, nil)
	}
	slices.SortFunc(out, func(a, b vector) int { return strings.Compare(a.File, b.File) })
	return out
}
