package audittools

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/transparency-dev/formats/log"
	tlogproof "github.com/transparency-dev/formats/proof"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// head is a signed tree head that two libraries parse to the same values.
type head struct {
	text string
	note []byte
	size uint64
	root []byte
}

// openHead opens a note with both libraries, and its signature with OpenSSL if the key is given as PEM.
func openHead(t *testing.T, data []byte, vkey string, pem []byte) head {
	t.Helper()
	v, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open(data, note.VerifierList(v))
	if err != nil || len(n.Sigs) != 1 {
		t.Fatalf("note.Open: %v\n%s", err, data)
	}
	cp, rest, _, err := log.ParseCheckpoint(data, v.Name(), v)
	if err != nil || len(rest) != 0 {
		t.Fatalf("log.ParseCheckpoint: %v, %q behind it", err, rest)
	}
	if want := fmt.Sprintf("%s\n%d\n%s\n", cp.Origin, cp.Size,
		base64.StdEncoding.EncodeToString(cp.Hash)); n.Text != want {
		t.Fatalf("the libraries read %q and %q", n.Text, want)
	}
	if pem != nil {
		raw, err := base64.StdEncoding.DecodeString(n.Sigs[0].Base64)
		if err != nil || len(raw) < 4 {
			t.Fatalf("a signature line of %d bytes, %v", len(raw), err)
		}
		openssl(t, n.Text, raw[4:], pem)
	}
	return head{text: n.Text, note: data, size: cp.Size, root: cp.Hash}
}

// openssl verifies a signature over a text, and expects that it fails over another one.
func openssl(t *testing.T, text string, signature, pem []byte) {
	t.Helper()
	tool, err := exec.LookPath("openssl")
	if err != nil {
		t.Fatalf("openssl is missing; run: make setup: %v", err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, sig := write("key.pem", pem), write("sig", signature)
	verify := func(text string) error {
		cmd := exec.CommandContext(t.Context(), tool, "pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in",
			write("body", []byte(text)), "-sigfile", sig)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := verify(text); err != nil {
		t.Errorf("openssl refuses the signature: %v", err)
	}
	if err := verify(text + " "); err == nil {
		t.Error("openssl takes another text")
	}
}

// included verifies with three libraries that a leaf is under a head, and refuse it at another index.
func (h head) included(t *testing.T, leaf []byte, index uint64, path [][]byte) {
	t.Helper()
	if err := proof.VerifyInclusion(rfc6962.DefaultHasher, index, h.size, rfc6962.DefaultHasher.HashLeaf(leaf), path,
		h.root); err != nil {
		t.Errorf("merkle: leaf %d: %v", index, err)
	}
	var record tlog.RecordProof
	raw := tlogproof.TLogProof{Index: index, Checkpoint: h.note}
	for _, p := range path {
		record = append(record, tlog.Hash(p))
		raw.Hashes = append(raw.Hashes, [32]byte(p))
	}
	if err := tlog.CheckRecord(record, int64(h.size), tlog.Hash(h.root), int64(index), tlog.RecordHash(leaf)); err != nil {
		t.Errorf("tlog: leaf %d: %v", index, err)
	}
	if tlog.CheckRecord(record, int64(h.size), tlog.Hash(h.root), int64(index),
		tlog.RecordHash(append(bytes.Clone(leaf), ' '))) == nil {
		t.Errorf("tlog: another leaf %d", index)
	}
	var again tlogproof.TLogProof
	if err := again.Unmarshal(raw.Marshal()); err != nil || again.Index != index ||
		!bytes.Equal(again.Checkpoint, h.note) {
		t.Errorf("tlog-proof: leaf %d: %v", index, err)
	}
}

// follows verifies with two libraries that the head extends an older one.
func (h head) follows(t *testing.T, size uint64, root []byte, path [][]byte) {
	t.Helper()
	if err := proof.VerifyConsistency(rfc6962.DefaultHasher, size, h.size, path, root, h.root); err != nil {
		t.Errorf("merkle: from %d: %v", size, err)
	}
	var tree tlog.TreeProof
	for _, p := range path {
		tree = append(tree, tlog.Hash(p))
	}
	if err := tlog.CheckTree(tree, int64(h.size), tlog.Hash(h.root), int64(size), tlog.Hash(root)); err != nil {
		t.Errorf("tlog: from %d: %v", size, err)
	}
}

// listed is a key in the form of key files.
type listed struct {
	Use  string
	PEM  string `json:"spki_pem"`
	VKey string
	KID  string
}

func pemOf(t *testing.T, list []listed, vkey string) []byte {
	t.Helper()
	for _, k := range list {
		if k.VKey == vkey {
			return []byte(k.PEM)
		}
	}
	t.Fatalf("%s is not listed", vkey)
	return nil
}

// bundleFile is a bundle, read as plain JSON.
type bundleFile struct {
	From, Size  uint64
	Checkpoint  string
	Keys        []listed
	Anchors     []struct{ Note string }
	Inclusion   struct{ First, Last [][]byte }
	Consistency *struct {
		From  uint64
		Root  []byte
		Proof [][]byte
	}
	Entries []struct{ Leaf string }
}

func checkBundle(t *testing.T, data []byte, vkey string) head {
	t.Helper()
	var b bundleFile
	readJSON(t, data, &b)
	pem := pemOf(t, b.Keys, vkey)
	h := openHead(t, []byte(b.Checkpoint), vkey, pem)
	for _, a := range b.Anchors {
		openHead(t, []byte(a.Note), vkey, pem)
	}
	if last := uint64(len(b.Entries)); b.From == 1 && last == h.size {
		leaves := make([][]byte, 0, last)
		for _, e := range b.Entries {
			leaves = append(leaves, []byte(e.Leaf))
		}
		wholeTree(t, h, leaves)
	} else {
		h.included(t, []byte(b.Entries[0].Leaf), b.From-1, b.Inclusion.First)
		h.included(t, []byte(b.Entries[last-1].Leaf), b.From+last-2, b.Inclusion.Last)
	}
	if c := b.Consistency; c != nil {
		h.follows(t, c.From, c.Root, c.Proof)
	}
	return h
}

// TestBundles verifies the bundles of the vectors.
func TestBundles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"whole.json", "window.json"} {
		checkBundle(t, readFile(t, vectorDir, "bundles", name), vectorKey)
	}
}

// TestReceipts verifies heads, proofs and the envelope's signature of each good receipt of the vectors.
func TestReceipts(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(vectorDir, "receipts", "good", "*.json"))
	if err != nil || len(names) < 5 {
		t.Fatalf("%d receipts, %v", len(names), err)
	}
	for _, name := range names {
		checkReceipt(t, readFile(t, name), vectorKey)
	}
}

// checkReceipt verifies the envelope with OpenSSL and then its content.
func checkReceipt(t *testing.T, data []byte, vkey string) {
	t.Helper()
	var e struct {
		Payload     []byte
		PayloadType string
		Signatures  []struct {
			KeyID string
			Sig   []byte
		}
	}
	readJSON(t, data, &e)
	var s struct {
		Predicate struct {
			Checkpoint string
			Keys       []listed
			Anchors    []struct {
				Note  string
				Proof [][]byte
			}
			Entries []struct {
				Index uint64
				Leaf  string
				Proof *[][]byte
			}
		}
	}
	readJSON(t, e.Payload, &s)
	p, signed := s.Predicate, false
	for _, k := range p.Keys {
		if k.KID == e.Signatures[0].KeyID {
			openssl(t, fmt.Sprintf("DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.Payload), e.Payload),
				e.Signatures[0].Sig, []byte(k.PEM))
			signed = true
		}
	}
	if !signed {
		t.Error("no listed key signed the receipt")
	}
	pem := pemOf(t, p.Keys, vkey)
	h := openHead(t, []byte(p.Checkpoint), vkey, pem)
	for _, e := range p.Entries {
		if e.Proof != nil {
			h.included(t, []byte(e.Leaf), e.Index, *e.Proof)
		}
	}
	for _, a := range p.Anchors {
		older := openHead(t, []byte(a.Note), vkey, pem)
		h.follows(t, older.size, older.root, a.Proof)
	}
}
