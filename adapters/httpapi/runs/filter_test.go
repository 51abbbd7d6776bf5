package runs

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
		"host:web1 change:C-1 template:tpl_1 queue:eu tool:bash source:api,rerun": {
			Host: "web1", Change: "C-1", Template: "tpl_1", Queue: "eu", Tool: "bash",
			Sources: []runs.Source{runs.FromAPI, runs.FromRerun},
		},
		"label:a=": {Labels: map[string]string{"a": ""}},
	} {
		var got runs.Filter
		if err := search(&got, q); err != nil {
			t.Errorf("%q: %v", q, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", q, d)
		}
	}
	for _, q := range []string{
		`"open`, "status:", "status:x", "status:failed status:running", "source:nope", "source:api source:api", "label:=x",
		"label:a=1 label:a=2",
		"tool:a tool:b", "tool:a/b", strings.Repeat("w ", 33), strings.Repeat("w", 1001),
	} {
		if err := search(&runs.Filter{}, q); err == nil {
			t.Errorf("%q is taken", q)
		}
	}
}
