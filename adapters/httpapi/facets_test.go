package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

func TestFacets(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/v1/runs/facets"
	for _, role := range []string{"viewer", "operator", "admin"} {
		a := f.call(http.MethodGet, path+"?q="+url.QueryEscape("status:failed,pending tool:bash deploy"), role, "")
		want := map[string]any{"exact": false, "about": []any{"tool"}, "facets": map[string]any{
			"status": map[string]any{"failed": json.Number("3")}, "tool": map[string]any{"bash": json.Number("4")}}}
		if d := cmp.Diff(want, a.json(t, http.StatusOK)); d != "" {
			t.Error(d)
		}
		if !slices.Equal(f.fake.filter.Statuses, []runs.Status{"failed", "pending"}) || f.fake.filter.Tool != "bash" {
			t.Errorf("%+v", f.fake.filter)
		}
	}
	for _, q := range []string{"status:nope", "nope:x", `"open`, "tool:", strings.Repeat("a", 2000)} {
		f.call(http.MethodGet, path+"?q="+url.QueryEscape(q), "viewer", "").problem(t, http.StatusBadRequest)
	}
	f.call(http.MethodGet, path+"?limit=3", "viewer", "").problem(t, http.StatusBadRequest)
	f.call(http.MethodGet, path, "", "").problem(t, http.StatusUnauthorized)
}
