package verifiers

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const origin = "audit.example.org/in_test/e1"

// The tree of RFC 6962, implemented from its text.

func leafHash(leaf string) []byte {
	sum := sha256.Sum256([]byte("\x00" + leaf))
	return sum[:]
}

func nodeHash(left, right []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte{1}, left, right))
	return sum[:]
}

// split returns the largest power of two below n.
func split(n int) int {
	k := 1
	for 2*k < n {
		k *= 2
	}
	return k
}

func root(leaves [][]byte) []byte {
	switch n := len(leaves); n {
	case 0:
		sum := sha256.Sum256(nil)
		return sum[:]
	case 1:
		return leaves[0]
	default:
		k := split(n)
		return nodeHash(root(leaves[:k]), root(leaves[k:]))
	}
}

func inclusion(m int, leaves [][]byte) [][]byte {
	n := len(leaves)
	if n == 1 {
		return nil
	}
	if k := split(n); m < k {
		return append(inclusion(m, leaves[:k]), root(leaves[k:]))
	} else {
		return append(inclusion(m-k, leaves[k:]), root(leaves[:k]))
	}
}

func consistency(m int, leaves [][]byte) [][]byte {
	if m == 0 {
		return nil
	}
	return subproof(m, leaves, true)
}

func subproof(m int, leaves [][]byte, whole bool) [][]byte {
	n := len(leaves)
	switch {
	case m == n && whole:
		return nil
	case m == n:
		return [][]byte{root(leaves)}
	}
	if k := split(n); m <= k {
		return append(subproof(m, leaves[:k], whole), root(leaves[k:]))
	} else {
		return append(subproof(m-k, leaves[k:], false), root(leaves[:k]))
	}
}

// signer is a key with a seed of one repeated byte, as in the vectors: 1 signs their heads and 2 their statements.
type signer struct{ private ed25519.PrivateKey }

func newSigner(seed byte) signer {
	return signer{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}
}

func (s signer) public() []byte { return s.private.Public().(ed25519.PublicKey) }

func (s signer) der() []byte {
	return append([]byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}, s.public()...)
}

func (s signer) id() string {
	sum := sha256.Sum256(s.der())
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s signer) keyHash(name string) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(name+"\n\x01"), s.public()))
	return sum[:4]
}

func (s signer) vkey(name string) string {
	return name + "+" + hex.EncodeToString(s.keyHash(name)) + "+" +
		base64.StdEncoding.EncodeToString(append([]byte{1}, s.public()...))
}

// key returns the key as listed in files; members replace its members or, if nil, remove them.
func (s signer) key(use string, members ...map[string]any) map[string]any {
	k := map[string]any{
		"alg": "ed25519", "first_size": 0, "kid": s.id(), "not_before": "2026-01-01T00:00:00.000000Z", "status": "active",
		"use": use,
		"spki_pem": "-----BEGIN PUBLIC KEY-----\n" + base64.StdEncoding.EncodeToString(s.der()) +
			"\n-----END PUBLIC KEY-----\n",
	}
	if use == "checkpoint" {
		k["vkey"] = s.vkey(origin)
	}
	for _, m := range members {
		for name, value := range m {
			if k[name] = value; value == nil {
				delete(k, name)
			}
		}
	}
	return k
}

// note makes a head of leaves with the lines of signers.
func note(name string, size int, root []byte, by ...signer) string {
	text := fmt.Sprintf("%s\n%d\n%s\n", name, size, base64.StdEncoding.EncodeToString(root))
	out := text + "\n"
	for _, s := range by {
		line := append(slices.Clone(s.keyHash(name)), ed25519.Sign(s.private, []byte(text))...)
		out += "— " + name + " " + base64.StdEncoding.EncodeToString(line) + "\n"
	}
	return out
}

// canon returns the RFC 8785 form of a value with ASCII names and integers.
func canon(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// envelope signs a payload as a DSSE envelope.
func envelope(payload string, by signer) string {
	const kind = "application/vnd.in-toto+json"
	sig := ed25519.Sign(by.private, fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload))
	return fmt.Sprintf(`{"payload":%q,"payloadType":%q,"signatures":[{"keyid":%q,"sig":%q}]}`,
		base64.StdEncoding.EncodeToString([]byte(payload)), kind, by.id(), base64.StdEncoding.EncodeToString(sig))
}

// sign ends a bundle with a manifest over the preceding bytes, like an attacker with the key.
func sign(t testing.TB, body string) []byte {
	t.Helper()
	var h struct {
		Origin         string
		From, To, Size json.Number
	}
	// The first members determine the contents of the manifest. If they are broken, the contents do not matter.
	head, _, _ := strings.Cut(body, `,"generated_at"`)
	_ = json.Unmarshal([]byte(head+"}"), &h)
	sum := sha256.Sum256([]byte(body))
	return seal(body,
		fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","predicate":{"from":%s,"origin":%q,"size":%s,"to":%s,"v":1},`+
			`"predicateType":"https://github.com/writ-automation/writ/audit/bundle/v1","subject":[{"digest":{"sha256":"%x"},"name":"bundle"}]}`,
			h.From, h.Origin, h.Size, h.To, sum))
}

func seal(body, statement string) []byte {
	return []byte(body + `,"manifest":` + envelope(statement, newSigner(2)) + "}\n")
}

// body returns a bundle up to its manifest.
func body(file []byte) string {
	text, _, _ := strings.Cut(string(file), `,"manifest":`)
	return text
}

// chain is a chain that a test makes.
type chain struct {
	leaves []string
	open   [][]string // disclosures of each leaf
	hashes [][]byte
}

// newChain links n leaves. Change returns further members of leaf number seq.
func newChain(t testing.TB, n int, change func(seq int) map[string]any) *chain {
	t.Helper()
	c := &chain{open: make([][]string, n)}
	prev := make([]byte, 32)
	for seq := 1; seq <= n; seq++ {
		l := map[string]any{
			"act": "run.submit", "at": fmt.Sprintf("2026-01-01T00:%02d:%02d.000000Z", seq/60, seq%60), "out": "applied",
			"prev": base64.StdEncoding.EncodeToString(prev), "seq": seq, "v": 1,
		}
		if change != nil {
			for name, value := range change(seq) {
				l[name] = value
			}
		}
		text := canon(t, l)
		prev = leafHash(text)
		c.leaves, c.hashes = append(c.leaves, text), append(c.hashes, prev)
	}
	return c
}

// window describes a bundle of a chain.
type window struct {
	from, to   int
	checkpoint string
	keys       []map[string]any
	anchors    []string // sizes and notes in the form of a bundle
	older      int      // size of the tree that consistency starts from, -1 for none
}

// window returns the description of a good bundle.
func (c *chain) window(from, to int) window {
	return window{
		from: from, to: to, older: -1, checkpoint: note(origin, len(c.leaves), root(c.hashes), newSigner(1)),
		keys: []map[string]any{newSigner(1).key("checkpoint"), newSigner(2).key("statement")},
	}
}

func (c *chain) anchor(size int, by ...signer) string {
	if len(by) == 0 {
		by = []signer{newSigner(1)}
	}
	return fmt.Sprintf(`{"id":"anc_%d","kind":"head_file","size":%d,"note":%s}`, size, size,
		quote(note(origin, size, root(c.hashes[:size]), by...)))
}

func quote(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

func hashList(list [][]byte) string {
	out := make([]string, 0, len(list))
	for _, h := range list {
		out = append(out, `"`+base64.StdEncoding.EncodeToString(h)+`"`)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// body writes a bundle up to its manifest.
func (c *chain) body(t testing.TB, w window) string {
	t.Helper()
	n := len(c.leaves)
	out := fmt.Sprintf(`{"v":1,"origin":%q,"from":%d,"to":%d,"size":%d,"generated_at":"2026-01-01T01:00:00.000000Z","checkpoint":%s,"keys":%s,"anchors":[%s]`,
		origin, w.from, w.to, n, quote(w.checkpoint), canon(t, w.keys), strings.Join(w.anchors, ","))
	if w.from > 1 {
		out += `,"prev":"` + base64.StdEncoding.EncodeToString(c.hashes[w.from-2]) + `"`
	}
	if w.from > 1 || w.to < n {
		out += `,"inclusion":{"first":` + hashList(inclusion(w.from-1, c.hashes)) + `,"last":` +
			hashList(inclusion(w.to-1, c.hashes)) + "}"
	}
	if w.older >= 0 {
		out += fmt.Sprintf(`,"consistency":{"from":%d,"root":"%s","proof":%s}`, w.older,
			base64.StdEncoding.EncodeToString(root(c.hashes[:w.older])), hashList(consistency(w.older, c.hashes)))
	}
	entries := make([]string, 0, n)
	for i := w.from - 1; i < w.to; i++ {
		e := `{"leaf":` + quote(c.leaves[i])
		if len(c.open[i]) > 0 {
			list, _ := json.Marshal(c.open[i]) // only base64url
			e += `,"disclosures":` + string(list)
		}
		entries = append(entries, e+"}")
	}
	return out + `,"entries":[` + strings.Join(entries, ",") + "]"
}

func (c *chain) bundle(t testing.TB, w window) []byte {
	t.Helper()
	return sign(t, c.body(t, w))
}

// head returns SIZE:ROOT of the chain.
func (c *chain) head(size int) string {
	return fmt.Sprintf("%d:%s", size, base64.StdEncoding.EncodeToString(root(c.hashes[:size])))
}
