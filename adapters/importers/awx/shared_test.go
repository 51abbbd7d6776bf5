package awx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/importer"
)

// TestExportsOfOthers counts the objects of exports of others, if they are next to the checkout, by their lists. Pages
// of the API are refused. The export of this package is counted in any case.
func TestExportsOfOthers(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WRIT_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	dir := filepath.Join(shared, "testdata", "awx")
	want := map[string]map[string]int{
		filepath.Join("testdata", "export.yml"): {"credential_types": 1, "credentials": 8, "projects": 3, "inventory": 3,
			"inventory_sources": 4, "notification_templates": 3, "job_templates": 4, "workflow_job_templates": 1,
			"organizations": 1, "schedules": 2, "users": 1, "teams": 1, "execution_environments": 1, "something_else": 1},
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		yaml := filepath.Join(dir, "export-yaml")
		for file, counts := range map[string]map[string]int{
			"job_templates_export.yml": {"job_templates": 3}, "workflows.yml": {"workflow_job_templates": 2},
			"inventory_export.yml": {"inventory": 6}, "inventory_sources_export.yml": {"inventory_sources": 1},
			"projects_export.yml": {"projects": 6, "controller_configuration_projects_async_retries": 1,
				"controller_configuration_projects_async_delay": 1},
			"credentials_export.yml": {"credentials": 7}, "credential_types_export.yml": {"credential_types": 1},
			"organizations_export.yml":           {"organizations": 3},
			"notifications_templates_export.yml": {"notification_templates": 2},
		} {
			want[filepath.Join(yaml, file)] = counts
		}
		want[filepath.Join(dir, "redhatcop-export-merged.json")] = map[string]int{"organizations": 3, "credential_types": 1,
			"credentials": 7, "notification_templates": 2, "projects": 6, "inventory": 6, "inventory_sources": 1,
			"job_templates": 3, "workflow_job_templates": 2}
		for _, file := range []string{"schedules", "survey", "workflow_nodes", "jobTemplates", "notification_templates",
			"inventory_sources", "workflowJobTemplates"} {
			want[filepath.Join(dir, "api-lists", file+".json")] = nil
		}
	}
	for file, counts := range want {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		d, err := New().Read(t.Context(), importer.Export{Body: body, Now: now()})
		if (err != nil) != (counts == nil) || err != nil && !importer.Malformed.Is(err) {
			t.Errorf("%s: %v", file, err)
			continue
		}
		valid(t, d)
		places := map[string]map[string]bool{}
		for _, o := range d.Objects {
			list, _, _ := strings.Cut(o.Ref, "[")
			if places[list] == nil {
				places[list] = map[string]bool{}
			}
			place, _, _ := strings.Cut(o.Ref, ".") // a part of an object is not counted beside it
			places[list][place] = true
		}
		for list, n := range counts {
			if len(places[list]) != n {
				t.Errorf("%s: %d of %d %s", file, len(places[list]), n, list)
			}
		}
		if len(places) != len(counts) {
			t.Errorf("%s: %d lists, want %d", file, len(places), len(counts))
		}
	}
}
