package importers_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/importer"
)

// guide is a migration guide with exports that have what the rows of its table name.
type guide struct {
	format  importer.Format
	exports []importer.Export
	// rows has for the first cell of each row what the objects of the exports show: the kind and the name of an object,
	// then a part of its text after a colon.
	rows map[string][]string
}

// row matches a row of a table of two columns.
var row = regexp.MustCompile(`(?m)^\| (.+?) \| (.+) \|$`)

// TestGuides compares each row of the tables of the migration guides with what an import makes of exports.
func TestGuides(t *testing.T) {
	t.Parallel()
	for name, g := range guides(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "migrate-from-"+name+".md"))
			if err != nil {
				t.Fatal(err)
			}
			_, table, _ := strings.Cut(string(text), "## What becomes what\n")
			table, _, _ = strings.Cut(table, "\n## ")
			objects := objectsOf(t, g)
			rest := maps.Clone(g.rows)
			for _, m := range row.FindAllStringSubmatch(table, -1)[1:] {
				if len(g.rows[m[1]]) == 0 && m[2] != "not in these exports" {
					t.Errorf("nothing shows the row %q", m[1])
				}
				delete(rest, m[1])
				for _, want := range g.rows[m[1]] {
					object, part, _ := strings.Cut(want, ": ")
					if !strings.Contains(objects[object], part) || part == "" {
						t.Errorf("row %q: the object %q lacks %q:\n%s", m[1], object, part, objects[object])
					}
				}
			}
			for cell := range rest {
				t.Errorf("the guide has no row %q", cell)
			}
			if t.Failed() {
				t.Logf("The objects are:\n%s", strings.Join(slices.Sorted(maps.Values(objects)), ""))
			}
		})
	}
}

// objectsOf returns the texts of the objects of all exports of a guide, under their kinds and names.
func objectsOf(t *testing.T, g guide) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, e := range g.exports {
		e.Now = time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
		d, err := g.format.Read(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range d.Objects {
			var spec strings.Builder
			enc := json.NewEncoder(&spec)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(o.Spec); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%s %s", o.Kind, o.Name)
			text := fmt.Sprintf("%s\n  class %s\n  %s  %s\n", name, o.Class, &spec, o.Reason)
			for _, m := range o.Mapping {
				text += "  + " + m + "\n"
			}
			for _, w := range o.Warnings {
				text += "  ! " + w.Field + ": " + w.Message + "\n"
			}
			out[name] += text
		}
	}
	return out
}

// file returns an export that is a file of these tests.
func file(t *testing.T, path ...string) importer.Export {
	t.Helper()
	name := filepath.Join(path...)
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return importer.Export{File: filepath.Base(name), Body: body}
}

// folder returns an export that is an archive of a folder.
func folder(t *testing.T, path ...string) importer.Export {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := w.AddFS(os.DirFS(filepath.Join(path...))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return importer.Export{File: "export.zip", Body: b.Bytes()}
}
