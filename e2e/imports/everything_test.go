package imports

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

// TestImportEverything imports every export that there is, previews and applied, into one server: no object is
// refused by the server, and each import again changes nothing.
func TestImportEverything(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		target := importing(t, s.Client, "puppet", nodes(2), "apply", "true").Objects[0].Name
		for _, format := range []string{"awx", "semaphore", "puppet", "chef", "rundeck", "jenkins"} {
			n := 0
			for _, file := range exports(t, format) {
				body, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				params := []string{"file", filepath.Base(file)}
				if format == "rundeck" || format == "jenkins" {
					params = append(params, "inventory", target)
				}
				if a := post(s.Client, format, string(body), params...); a.Status == 400 {
					t.Logf("%s is refused: %.300s", file, a.Body)
					continue
				}
				whole(t, s.Client, format, file, body, params)
				n++
			}
			if n == 0 {
				t.Errorf("no export of %s was imported", format)
			}
		}
		s.Intact()
	})
}

// whole previews an import, applies it and imports it again.
func whole(t *testing.T, c harness.Client, format, file string, body []byte, params []string) {
	t.Helper()
	written := specified(t, format, file, body, params)
	preview := importing(t, c, format, body, params...)
	applied := importing(t, c, format, body, append(params, "apply", "true")...)
	again := importing(t, c, format, body, append(params, "apply", "true")...)
	if preview.Counts != applied.Counts {
		t.Errorf("%s: the preview counts %+v, the import %+v", file, preview.Counts, applied.Counts)
	}
	if again.Counts.Create+again.Counts.Update > 0 {
		t.Errorf("%s: imported again, %+v", file, again.Counts)
	}
	for i, o := range again.Objects {
		if o.Action != importer.Skip {
			t.Errorf("%s: %s %q is %s again: %v (%v)", file, o.Kind, o.Name, o.Action, o.Changes, applied.Objects[i].Action)
		}
	}
	for _, o := range applied.Objects {
		if o.Class == importer.NoHome && o.Reason == "" {
			t.Errorf("%s: nothing says why %s %q has no place", file, o.Kind, o.Name)
		}
		// An object of an incomplete export may need one that is missing. The server refuses nothing else.
		refused := o.Class == importer.NoHome && written[string(o.Kind)+"/"+o.Name]
		if refused && !strings.HasPrefix(o.Reason, "it needs the ") {
			t.Errorf("%s: the server refuses %s %q: %s", file, o.Kind, o.Name, o.Reason)
		}
		if o.Action != importer.Skip && o.ID == "" {
			t.Errorf("%s: %s %q has no id", file, o.Kind, o.Name)
		}
		t.Logf("%s: %s %q %s %s %s", filepath.Base(file), o.Kind, o.Name, o.Action, o.Class, o.Reason)
	}
}

// specified returns the objects that a format would have written, by kind and name.
func specified(t *testing.T, format, file string, body []byte, params []string) map[string]bool {
	t.Helper()
	at := slices.IndexFunc(compose.ImportFormats(), func(f importer.Format) bool { return f.Name() == format })
	e := importer.Export{File: filepath.Base(file), Body: body, Now: time.Now()}
	if i := slices.Index(params, "inventory"); i >= 0 {
		e.Inventory = params[i+1]
	}
	d, err := compose.ImportFormats()[at].Read(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]bool)
	for _, o := range d.Objects {
		if o.Spec != nil {
			out[string(o.Kind)+"/"+o.Name] = true
		}
	}
	return out
}

// exports lists the exports of a format: those of the formats' tests, and the real ones if they are there.
func exports(t *testing.T, format string) []string {
	t.Helper()
	root := os.Getenv("WRIT_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	var files []string
	for _, dir := range []string{
		filepath.Join("..", "..", "adapters", "importers", format, "testdata"), filepath.Join(root, "testdata", format),
	} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return fs.SkipDir
			}
			if err == nil && !d.IsDir() && !slices.Contains([]string{".md", ".golden"}, filepath.Ext(path)) &&
				!strings.Contains(path, "/fuzz/") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
