package catalog

import (
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestWhatIsReadCanBeSentBack reads a template with masked secrets, sends it back with another name, and launches it:
// the secrets are unchanged.
func TestWhatIsReadCanBeSentBack(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		const secret = "correct-horse"
		id := w.id("/v1/templates", harness.Body{
			"name": "t", "tool": "bash", "command": `[ "$WRIT_VAR_DB_PASSWORD" = ` + "corr" +
				`ect-horse ] && [ "$WRIT_VAR_PLAIN" = shown ] && echo as it was`,
			"extra_vars": harness.Body{"db_password": secret, "plain": "shown",
				"deep": harness.Body{"api_token": secret, "list": []any{harness.Body{"key": secret}}}},
			"notifications": []harness.Body{{"kind": "slack", "url": "https://hooks.example.org/" + secret},
				{"kind": "pagerduty", "key": secret}},
		})
		path := "/v1/templates/" + id
		read := w.Do(http.MethodGet, path, nil)
		vars := read.Body[strings.Index(string(read.Body), `"extra_vars"`):]
		if strings.Contains(string(vars), secret) || !strings.Contains(string(read.Body), "[redacted]") ||
			!strings.Contains(string(read.Body), "https://hooks.example.org/***") {
			t.Fatalf("%s", read.Body)
		}
		body := w.want(http.StatusOK, http.MethodGet, path, nil)
		for _, derived := range []string{"id", "created_by", "created_at", "updated_at"} {
			delete(body, derived)
		}
		body["name"] = "renamed"
		w.want(http.StatusOK, http.MethodPut, path, body, "If-Match", read.Header.Get("ETag"))
		w.want(http.StatusPreconditionFailed, http.MethodPut, path, body, "If-Match", read.Header.Get("ETag"))
		r := w.succeeds(w.launch(id, nil).ID)
		if log := w.log(r.ID); !strings.Contains(log, "as it was") {
			t.Errorf("%s", log)
		}
		if r.Name != "renamed" {
			t.Errorf("%+v", r)
		}
		for at, bad := range map[string]harness.Body{
			"notifications[0].url": {"notifications": []harness.Body{{"kind": "slack",
				"url": "https://elsewhere.example.org/***"}}},
			"notifications[0].key": {"notifications": []harness.Body{{"kind": "pagerduty"}}},
			"survey[0].colour":     {"survey": []harness.Body{{"var": "a", "type": "text", "colour": "red"}}},
			"survey[0].pattern":    {"survey": []harness.Body{{"var": "a", "type": "text", "pattern": "(x{1000}){1000}"}}},
			"survey[0].min":        {"survey": []harness.Body{{"var": "a", "type": "int", "min": 3, "max": 2}}},
			"survey[1].var":        {"survey": []harness.Body{{"var": "a", "type": "int"}, {"var": "a", "type": "int"}}},
			"survey[0].default":    {"survey": []harness.Body{{"var": "a", "type": "int", "max": 2, "default": 3}}},
			"timeout":              {"timeout": -1},
			"allow_overrides[0]":   {"allow_overrides": []string{"timeout"}},
			"playbook": {"steps": []harness.Body{{"name": "a", "tool": "bash", "command": "x"}},
				"playbook": "p.yml"},
			"tool": {"tool": "fortran"},
		} {
			next := harness.Body{"name": "renamed", "tool": "bash", "command": "true"}
			if _, hasSteps := bad["steps"]; hasSteps {
				next = harness.Body{"name": "renamed"}
			}
			for k, v := range bad {
				next[k] = v
			}
			p := w.want(http.StatusBadRequest, http.MethodPut, path, next)
			if errs, _ := p["errors"].([]any); len(errs) == 0 ||
				!strings.HasPrefix(errs[0].(map[string]any)["location"].(string), at) {
				t.Errorf("%s: %v", at, p)
			}
		}
	})
}

// TestNamesAreUniqueInAnOrganization creates objects with equal names.
func TestNamesAreUniqueInAnOrganization(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	org := w.id("/v1/orgs", harness.Body{"name": "o"})
	body := func(org string) harness.Body {
		b := harness.Body{"name": "same", "content": "a\n"}
		if org != "" {
			b["org_id"] = org
		}
		return b
	}
	w.make("/v1/inventories", body(""))
	w.make("/v1/inventories", body(org))
	for _, o := range []string{"", org} {
		if p := w.want(http.StatusConflict, http.MethodPost, "/v1/inventories", body(o)); p["reason"] != "name_taken" {
			t.Errorf("%v", p)
		}
	}
	p := w.want(http.StatusBadRequest, http.MethodPost, "/v1/inventories",
		harness.Body{"name": "bad", "format": "ini", "content": "[web]\na\n[web\n"})
	if errs, _ := p["errors"].([]any); len(errs) == 0 || errs[0].(map[string]any)["location"] != "content" ||
		!strings.Contains(p["detail"].(string), "line 3") {
		t.Errorf("%v", p)
	}
}
