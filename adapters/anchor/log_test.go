package anchor_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/bits"
)

// key is an Ed25519 key with a name, of one of the types of signed notes.
type key struct {
	name    string
	kind    byte
	private ed25519.PrivateKey
}

func newKey(name string, kind, seed byte) key {
	return key{name, kind, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}
}

func (k key) material() []byte {
	return append([]byte{k.kind}, k.private.Public().(ed25519.PublicKey)...)
}

func (k key) id() []byte {
	sum := sha256.Sum256(append([]byte(k.name+"\n"), k.material()...))
	return sum[:4]
}

func (k key) vkey() string {
	return k.name + "+" + hex.EncodeToString(k.id()) + "+" + base64.StdEncoding.EncodeToString(k.material())
}

// line formats a signature line.
func (k key) line(sig []byte) string {
	return "— " + k.name + " " + base64.StdEncoding.EncodeToString(append(k.id(), sig...)) + "\n"
}

// cosign makes an Ed25519 line of C2SP tlog-cosignature.
func (k key) cosign(body string, at uint64) string {
	stamped := []byte{byte(at >> 56), byte(at >> 48), byte(at >> 40), byte(at >> 32), byte(at >> 24), byte(at >> 16),
		byte(at >> 8), byte(at)}
	return k.line(append(stamped, ed25519.Sign(k.private, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, body))...))
}

// logOf is a log of leaves whose key signs heads.
type logOf struct {
	key    key
	leaves [][32]byte
}

func newLog(seed byte, n int) logOf {
	l := logOf{key: newKey("audit.example.org/in_test/e1", 1, seed)}
	for i := range n {
		l.leaves = append(l.leaves, sha256.Sum256(fmt.Appendf([]byte{0}, "leaf %d of %d", i, seed)))
	}
	return l
}

func (l logOf) body(n int) string {
	root := treeRoot(l.leaves[:n])
	return fmt.Sprintf("%s\n%d\n%s\n", l.key.name, n, base64.StdEncoding.EncodeToString(root[:]))
}

func (l logOf) note(n int) string {
	body := l.body(n)
	return body + "\n" + l.key.line(ed25519.Sign(l.key.private, []byte(body)))
}

func pair(a, b [32]byte) [32]byte {
	return sha256.Sum256(append(append([]byte{1}, a[:]...), b[:]...))
}

// split is the largest power of two below n.
func split(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) }

// treeRoot implements RFC 6962, 2.1.
func treeRoot(leaves [][32]byte) [32]byte {
	switch n := len(leaves); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	default:
		k := split(n)
		return pair(treeRoot(leaves[:k]), treeRoot(leaves[k:]))
	}
}

// proof implements RFC 6962, 2.1.2: from the tree of the first m leaves to that of the first n.
func (l logOf) proof(m, n int) [][32]byte {
	if m == 0 || m == n {
		return nil
	}
	return subproof(m, l.leaves[:n], true)
}

func subproof(m int, leaves [][32]byte, known bool) [][32]byte {
	n := len(leaves)
	if m == n {
		if known {
			return nil
		}
		return [][32]byte{treeRoot(leaves)}
	}
	if k := split(n); m > k {
		return append(subproof(m-k, leaves[k:], false), treeRoot(leaves[:k]))
	} else {
		return append(subproof(m, leaves[:k], known), treeRoot(leaves[k:]))
	}
}

// consistent implements RFC 9162, 2.1.4.2.
func consistent(first, second int, firstRoot, secondRoot [32]byte, proof [][32]byte) bool {
	if first == 0 || first == second {
		return len(proof) == 0 && (first == 0 || firstRoot == secondRoot)
	}
	if first&(first-1) == 0 {
		proof = append([][32]byte{firstRoot}, proof...)
	}
	if len(proof) == 0 {
		return false
	}
	fn, sn := first-1, second-1
	for fn&1 == 1 {
		fn, sn = fn>>1, sn>>1
	}
	fr, sr := proof[0], proof[0]
	for _, c := range proof[1:] {
		if sn == 0 {
			return false
		}
		if fn&1 == 1 || fn == sn {
			fr, sr = pair(c, fr), pair(c, sr)
			for fn&1 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			sr = pair(sr, c)
		}
		fn, sn = fn>>1, sn>>1
	}
	return fr == firstRoot && sr == secondRoot && sn == 0
}
