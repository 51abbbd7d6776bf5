package imports

import (
	"archive/zip"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

// TestImportRefused sends what is no import, each with its status and a text of its answer. Nothing is written.
// Keeps T12, T13.
func TestImportRefused(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		before := len(s.Trail().Hashes)
		laughs := `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><project>&b;</project>`
		for _, c := range []struct {
			name, format, body string
			params             []string
			status             int
			want               string
		}{
			{"an unknown format", "tower", "{}", nil, 400, "unknown_import_format"},
			{"crontabs", "cron", "* * * * * true", nil, 400, "unknown_import_format"},
			{"no body", "puppet", "", nil, 400, ""},
			{"broken JSON", "awx", "{\n\"projects\": [}", nil, 400, "line 2"},
			{"an empty export", "awx", `{"projects": []}`, nil, 400, "nothing_to_import"},
			{"a word for apply", "puppet", "[]", []string{"apply", "maybe"}, 400, "apply"},
			{"an unknown parameter", "puppet", "[]", []string{"aply", "true"}, 400, "aply"},
			{"an inventory of a fleet", "puppet", "[]", []string{"inventory", "x"}, 400, "inventory"},
			{"an unknown inventory", "jenkins", "<project/>", []string{"inventory", "x"}, 404, "inventory_not_found"},
			{"a large body", "puppet", strings.Repeat(" ", importer.MaxBody+1), nil, 413, ""},
			{"entities", "jenkins", laughs, nil, 400, "document type"},
			{"a path that leads outside", "jenkins", zipped(t, "jobs/../../etc/config.xml"), nil, 400, "leads outside"},
			{"an absolute path", "rundeck", zipped(t, "/jobs/job.xml"), nil, 400, "not relative"},
		} {
			a := post(s.Client, c.format, c.body, c.params...)
			if a.Status != c.status || !strings.Contains(string(a.Body), c.want) {
				t.Errorf("%s: %d %.400s", c.name, a.Status, a.Body)
			}
		}
		for _, collection := range []string{"inventories", "projects", "templates", "schedules", "credentials"} {
			if n := total(t, s.Client, collection); n != 0 {
				t.Errorf("%d %s were written", n, collection)
			}
		}
		if n := len(s.Trail().Hashes); n != before {
			t.Errorf("refused input made %d entries", n-before)
		}
	})
}

func zipped(t *testing.T, name string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	if err == nil {
		_, err = f.Write([]byte("<project/>"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestImportOnReadOnly expects that a read-only server refuses imports.
func TestImportOnReadOnly(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--read-only"}})
		if a := post(s.Client, "puppet", string(nodes(1))); a.Status != http.StatusForbidden {
			t.Errorf("a read-only server answers %d %.200s", a.Status, a.Body)
		}
	})
}
