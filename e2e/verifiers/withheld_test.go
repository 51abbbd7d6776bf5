package verifiers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/depthtest"
)

// without returns the bundle of a window that has only the hashes of some entries. The hash of number wrong, if there
// is one, is another.
func (c *chain) without(t testing.TB, w window, hidden func(seq int) bool, wrong int) []byte {
	t.Helper()
	text := c.body(t, w)
	for seq := w.from; seq <= w.to; seq++ {
		if !hidden(seq) {
			continue
		}
		hash := append([]byte(nil), c.hashes[seq-1]...)
		if seq == wrong {
			hash[0] ^= 1
		}
		before := text
		text = strings.Replace(text, `{"leaf":`+quote(c.leaves[seq-1])+`}`, `{"hash":"`+b64(hash)+`"}`, 1)
		if text == before {
			t.Fatalf("entry %d is not in the bundle", seq)
		}
	}
	return sign(t, text)
}

// TestWithheldEntries withholds each set of entries of windows of a small chain. The bundle verifies with a remark, and
// does not with another hash.
func TestWithheldEntries(t *testing.T) {
	t.Parallel()
	n := depthtest.Of(5, 7)
	c := newChain(t, n, nil)
	var all []query
	for _, w := range []window{c.window(1, n), c.window(2, n), c.window(1, n-1), c.window(2, n-1), c.window(3, 3)} {
		w.anchors = []string{c.anchor(2), c.anchor(n - 1)}
		for set := 1; set < 1<<(w.to-w.from+1); set++ {
			hidden := func(seq int) bool { return set>>(seq-w.from)&1 == 1 }
			name := fmt.Sprintf("%b of %d to %d of %d", set, w.from, w.to, n)
			all = append(all, query{name: name, file: c.without(t, w, hidden, 0), keys: []string{vkey}})
			for seq := w.from; seq <= w.to; seq++ {
				if hidden(seq) {
					all = append(all, query{name: fmt.Sprintf("%s, another hash of %d", name, seq),
						file: c.without(t, w, hidden, seq), keys: []string{vkey}})
				}
			}
		}
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if good := !strings.Contains(all[i].name, "another hash"); v.OK != good ||
			good && !strings.Contains(strings.Join(v.ended("warned"), " "), "entries") {
			t.Errorf("%s: %+v", all[i].name, v)
		}
	}
}

// TestForgedBetweenHashes forges an entry that no entry behind it links, since hashes follow, and adds a hash.
func TestForgedBetweenHashes(t *testing.T) {
	t.Parallel()
	c := newChain(t, 12, nil)
	w := c.window(5, 9)
	text := string(c.without(t, w, func(seq int) bool { return seq == 7 || seq == 8 }, 0))
	text, _, _ = strings.Cut(text, `,"manifest":`)
	forged := strings.Replace(text, quote(c.leaves[5]), quote(strings.Replace(c.leaves[5], "applied", "denied", 1)), 1)
	added := strings.TrimSuffix(text, "]") + `,{"hash":"` + b64(c.hashes[9]) + `"}]`
	all := []query{
		{name: "as made", file: sign(t, text), keys: []string{vkey}},
		{name: "forged", file: sign(t, forged), keys: []string{vkey}},
		{name: "added", file: sign(t, added), keys: []string{vkey}},
		{name: "no hash", file: sign(t, strings.Replace(text, `{"hash":"`, `{"hash":"=`, 1)), keys: []string{vkey}},
		{name: "more than a hash", file: sign(t, strings.Replace(text, `"},{"hash":`, `","leaf":"x"},{"hash":`, 1)),
			keys: []string{vkey}},
	}
	want := []string{"", "proof_invalid", "chain_break", "format_invalid", "format_invalid"}
	for i, v := range agree(t, theBrowser(t), all) {
		if v.Reason != want[i] || v.OK != (want[i] == "") || forged == text {
			t.Errorf("%s, want %q: %+v", all[i].name, want[i], v)
		}
	}
}
