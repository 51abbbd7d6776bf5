package httpapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

func TestSearchTerms(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]runs.Filter{
		"":                             {},
		"  web   db ":                  {Terms: []string{"web", "db"}},
		"status:failed,canceled":       {Statuses: []runs.Status{runs.Failed, runs.Canceled}},
		`"status:failed"`:              {Terms: []string{"status:failed"}},
		`"two words" x`:                {Terms: []string{"two", "words", "x"}},
		`actor:"Jane Doe"`:             {Actor: "Jane Doe"},
		`label:team="a b" label:x=y=z`: {Labels: map[string]string{"team": "a b", "x": "y=z"}},
		"http://x site.yml":            {Terms: []string{"http://x", "site.yml"}},
		"12:30 C:/x app2:v1 A: :x":     {Terms: []string{"12:30", "C:/x", "app2:v1", "A:", ":x"}},
		`"statsu:failed" "a b:c"`:      {Terms: []string{"statsu:failed", "a", "b:c"}},
		"host:web1 change:C-1 template:tpl_1 queue:eu tool:bash source:api,rerun": {
			Host: "web1", Change: "C-1", Templates: []string{"tpl_1"}, Queue: "eu", Tool: "bash",
			Sources: []runs.Source{runs.FromAPI, runs.FromRerun},
		},
		"label:a=": {Labels: map[string]string{"a": ""}},
	} {
		var got runs.Filter
		if err := SearchRuns(&got, q); err != nil {
			t.Errorf("%q: %v", q, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", q, d)
		}
	}
	for _, q := range []string{
		`"open`, "status:", "status:x", "status:failed status:running", "source:nope", "source:api source:api", "label:=x",
		"label:a=1 label:a=2",
		"statsu:failed", "x project:y", "http:/x", "image:v1", "template:a template:b", "tool:a tool:b",
		"tool:a/b", strings.Repeat("w ", 33), strings.Repeat("w", 1001),
	} {
		if err := SearchRuns(&runs.Filter{}, q); err == nil {
			t.Errorf("%q is taken", q)
		}
	}
	for q, want := range map[string]string{
		"statsu:failed": "Did you mean status:?", "x tempalte:y": "Did you mean template:?",
		"zzzzzz:1": `"zzzzzz:" is no term. Terms`,
	} {
		err := SearchRuns(&runs.Filter{}, q)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(),
			"status:, tool:, source:, actor:, host:, label:, change:, template:, queue:") {
			t.Errorf("%q: %v", q, err)
		}
	}
}
