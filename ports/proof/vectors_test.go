package proof

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/ports/proof/bundle"
)

var update = flag.Bool("update", false, "write the bundles of the vectors")

// TestVectors compares the bundles for other verifiers with the output and the verdicts of this package.
func TestVectors(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 12)
	whole, window := w.whole(t), w.window(t, 5, 9)
	whole.Anchors = []bundle.Anchor{w.anchor(t, 4), w.anchor(t, 8)}
	window.Anchors, window.Consistency = []bundle.Anchor{w.anchor(t, 3), w.anchor(t, 7)}, w.consistency(t, 2)
	withheld := w.without(window, func(seq int64) bool { return seq == 5 || seq == 7 || seq == 8 })
	for name, made := range map[string][]byte{"whole.json": w.write(t, whole), "window.json": w.write(t, window),
		"withheld.json": w.writeEntries(t, window, withheld)} {
		path := filepath.Join("testdata", "bundles", name)
		if *update {
			if err := os.WriteFile(path, made, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		stored, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(stored, made) {
			t.Fatalf("%s is not what is written, %v; run: go test ./ports/proof -update", name, err)
		}
		v := check(t, bytes.NewReader(stored), Trust{VKeys: w.trusted().VKeys, From: &Head{Size: 7, Root: w.roots[7]}})
		ends(t, v, "", 0, 0)
	}
}
