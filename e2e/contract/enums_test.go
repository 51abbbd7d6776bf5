package contract

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// shape is a schema of the API document, as far as it leads to members with choices.
type shape struct {
	Ref        string `json:"$ref"`
	Enum       []any
	ReadOnly   bool
	Items      *shape
	Properties map[string]*shape
}

// choice is a member with choices, and a body or a query with a value that is none of them.
type choice struct {
	at      string
	body    any
	choices []string
}

// shapes are the named schemas of the document.
type shapes map[string]*shape

// choices lists the members with choices below a schema.
func (all shapes) choices(s *shape, at string, depth int) (out []choice) {
	for s.Ref != "" {
		s = all[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	switch {
	case depth > 6 || s.ReadOnly:
	case len(s.Enum) > 0:
		c := choice{at: at, body: "bogus"}
		for _, v := range s.Enum {
			if text, ok := v.(string); ok {
				c.choices = append(c.choices, text)
			}
		}
		out = append(out, c)
	case s.Items != nil:
		for _, c := range all.choices(s.Items, at+"[0]", depth+1) {
			c.body = []any{c.body}
			out = append(out, c)
		}
	default:
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			for _, c := range all.choices(s.Properties[name], strings.TrimPrefix(at+"."+name, "."), depth+1) {
				c.body = harness.Body{name: c.body}
				out = append(out, c)
			}
		}
	}
	return out
}

// TestBadChoices sends a value that is none of the choices, for each member and parameter of the API document that has
// choices. The answer names the value and every choice.
func TestBadChoices(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Schema   shape
			}
			RequestBody struct {
				Content map[string]struct{ Schema shape }
			}
		}
		Components struct{ Schemas shapes }
	}
	w.Do(http.MethodGet, "/openapi.json", nil).JSON(t, &doc)
	seen := 0
	check := func(method, path string, body any, c choice) {
		t.Helper()
		seen++
		a := w.Do(method, path, body)
		var p struct {
			Errors []struct{ Location, Message string }
		}
		if a.Status != http.StatusBadRequest {
			t.Errorf("%s %s, %s: %d %s", method, path, c.at, a.Status, a.Body)
			return
		}
		a.JSON(t, &p)
		for _, e := range p.Errors {
			if e.Location == c.at && strings.Contains(e.Message, "bogus") &&
				!slices.ContainsFunc(c.choices, func(name string) bool { return !strings.Contains(e.Message, name) }) {
				return
			}
		}
		t.Errorf("%s %s, %s: %s", method, path, c.at, a.Body)
	}
	for path, item := range doc.Paths {
		for method, op := range item {
			at := strings.NewReplacer("{", "", "}", "").Replace(path)
			if strings.HasPrefix(path, "/relay/") {
				continue // its callers are workers
			}
			for _, q := range op.Parameters {
				if q.In == "query" {
					for _, c := range doc.Components.Schemas.choices(&q.Schema, q.Name, 0) {
						check(strings.ToUpper(method), at+"?"+q.Name+"=bogus", nil, c)
					}
				}
			}
			for _, content := range op.RequestBody.Content {
				for _, c := range doc.Components.Schemas.choices(&content.Schema, "", 0) {
					check(strings.ToUpper(method), at, c.body, c)
				}
			}
		}
	}
	for path, name := range map[string]string{"status=bogus": "status", "q=status:bogus": "q.status"} {
		check(http.MethodGet, "/v1/runs?"+path, nil, choice{at: name, choices: []string{"pending_approval", "rejected"}})
	}
	check(http.MethodGet, "/v1/runs?q=source:bogus", nil, choice{at: "q.source", choices: []string{"api", "proposal"}})
	check(http.MethodPost, "/v1/runs", harness.Body{"tool": "bogus"},
		choice{at: "tool", choices: []string{"ansible", "bash"}})
	if seen < 60 {
		t.Errorf("only %d members have choices", seen)
	}
}
