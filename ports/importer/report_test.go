package importer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/importer"
)

// TestReport: names of an export stay text in the report, and fires stand side by side.
func TestReport(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, time.May, 4, 2, 30, 0, 0, time.UTC)
	hostile := `<script>alert("x")</script>`
	b := importer.Body{
		Format: "awx", Counts: importer.Counts{Create: 1, Skip: 1, Adapted: 1, NoHome: 1},
		Objects: []importer.PlannedBody{
			{
				Kind: importer.Schedule, Name: hostile, Action: importer.Create, Class: importer.Adapted,
				SourceRef: hostile, Mapping: []string{hostile},
				NextFires: &importer.FiresBody{Source: []time.Time{at, at.Add(time.Hour)}, Writ: []time.Time{at}},
			},
			{Kind: "user", Name: "ada", Action: importer.Skip, Class: importer.NoHome, Reason: hostile},
		},
		Warnings: []importer.WarningBody{
			{Kind: importer.Schedule, Object: hostile, Field: "rrule", Message: hostile},
			{Field: "version", Message: "The export is old."},
		},
	}
	var out strings.Builder
	if err := importer.WriteReport(&out, b); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, never := range []string{"<script", "src=", "href=", "url("} {
		if strings.Contains(page, never) {
			t.Errorf("the report contains %q", never)
		}
	}
	for _, want := range []string{
		"&lt;script&gt;", "Same: 0, Adapted: 1, Needs you: 0, No home: 1", "version: The export is old.",
		`<rect class="adapted" x="0" width="500"`, `<rect class="no_home" x="500" width="500"`,
		"<tr><td>2030-05-04 02:30 UTC</td><td>2030-05-04 02:30 UTC</td></tr>", "<td>none</td>",
		"This is a preview.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}
