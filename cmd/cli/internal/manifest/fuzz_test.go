package manifest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

// FuzzRead reads any input without a panic; accepted input reads the same after it was written.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"kind: Template\nname: a\nspec: {extra_vars: &x {a: [1, yes, 0777]}, labels: *x}\n",
		"kind: Schedule\nname: a\nspec: {run: {command_file: a.yaml}}\n",
		"kind: InventorySource\nname: \"\\e\"\nspec: {config: {plugin: x}, kind: plugin}\n", "a: &a [*a, *a]\n",
		"---\n...\n---\n%TAG ! x\n", "? [a]\n: b\n", "kind: Project\nname: |2\n   x\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		docs, err := manifest.Read(dir)
		if err != nil {
			return
		}
		for _, d := range docs {
			k, _ := manifest.KindOf(d.Kind)
			content, beside, err := manifest.Encode(d, "b", nil)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{"b.yaml": string(content)}
			for name, text := range beside {
				files[name] = text
			}
			again, err := manifest.Read(tree(t, files))
			if err != nil || len(again) != 1 || again[0].Key != d.Key {
				t.Fatalf("%v\n%s", err, content)
			}
			if diff := cmp.Diff(manifest.Normal(k, d.Spec), manifest.Normal(k, again[0].Spec)); diff != "" {
				t.Fatalf("%s\n%s", diff, content)
			}
		}
	})
}
