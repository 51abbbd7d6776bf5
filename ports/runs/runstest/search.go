package runstest

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

func searchCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"what is searched":          searchTexts,
		"how words match":           searchTerms,
		"an error found at the end": searchError,
		"long texts":                searchLong,
	}
}

func (e *env) found(t *testing.T, terms ...string) []string {
	t.Helper()
	return ids(e.list(t, runs.Filter{Terms: terms}).Runs)
}

func searchTexts(t *testing.T, e *env) {
	r := e.add(t, func(r *runs.Run) {
		r.Name, r.Spec.Playbook, r.Spec.Command, r.Error = "alpha", "bravo.yml", "charlie --delta", "echo1"
		r.Labels, r.Actor.Name = map[string]string{"foxtrot": "golf"}, "hotel"
		r.Vars, r.Spec.Env, r.Change = runs.Vars{"india": raw(`"juliett"`)}, map[string]string{"KILO": "lima"}, "mike"
	})
	e.add(t)
	for _, w := range []string{"alpha", "bravo", "yml", "charlie", "delta", "echo1", "foxtrot", "golf", "hotel"} {
		if d := diff([]string{r.ID}, e.found(t, w)); d != "" {
			t.Errorf("%s finds:\n%s", w, d)
		}
	}
	for _, w := range []string{"india", "juliett", "kilo", "lima"} {
		if got := e.found(t, w); len(got) != 0 {
			t.Errorf("%s finds %v: variables are not searched", w, got)
		}
	}
}

func searchTerms(t *testing.T, e *env) {
	r := e.add(t, func(r *runs.Run) {
		r.Name, r.Spec.Command = "Web-01.Prod_EU Größe ΣΊΣΥΦΟΣ 東京タワー naïve ½",
			"curl 'https://example.org/a?b=c' | tee \"x\" 12345"
	})
	e.add(t, func(r *runs.Run) { r.Name = "other" })
	for _, hit := range [][]string{
		{"web"}, {"WEB"}, {"we"}, {"web-01"}, {"01"}, {"prod", "web"}, {"prod_eu"}, {"größe"}, {"GRÖ"}, {"東京"}, {"naïve"},
		{"na"},
		{"https://example.org/a?b=c"}, {"example.org"}, {"123"}, {"12345"}, {"web", "prod", "curl", "tee", "x"},
		{"web", "-", "prod"},
		{`"web"`}, {"web*"}, {"'web'"}, {"web:*"}, {"(web)"}, {"σίσυ"},
	} {
		if d := diff([]string{r.ID}, e.found(t, hit...)); d != "" {
			t.Errorf("%q finds:\n%s", hit, d)
		}
	}
	for _, miss := range [][]string{
		{"eb"}, {"web", "absent"}, {"größer"}, {"grosse"}, {"gro"}, {"naive"}, {"京"}, {"123456"}, {"-"}, {"***"}, {"''"},
		{"web", "other"},
	} {
		if got := e.found(t, miss...); len(got) != 0 {
			t.Errorf("%q finds %v", miss, got)
		}
	}
	for _, operator := range []string{"not", "and", "or", "near", "&", "|", "!", "name:web"} {
		e.found(t, operator) // no word is a command
	}
}

func searchError(t *testing.T, e *env) {
	a := e.running(t, func(r *runs.Run) { r.Name = "deploy"; r.Labels = map[string]string{"team": "blue"} })
	if got := e.found(t, "timeout"); len(got) != 0 {
		t.Fatalf("found %v", got)
	}
	if _, err := e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Failed, At: epoch,
		Error: "ssh: timeout"}); err != nil {
		t.Fatal(err)
	}
	for _, terms := range [][]string{{"timeout"}, {"deploy", "ssh"}, {"blue"}, {"true", "timeo"}, {"ada"}} {
		if d := diff([]string{a.Run.ID}, e.found(t, terms...)); d != "" {
			t.Errorf("%q finds:\n%s", terms, d)
		}
	}
}

func searchLong(t *testing.T, e *env) {
	long := strings.Repeat("ü", 500)
	r := e.add(t, func(r *runs.Run) {
		r.Name = long
		r.Spec.Command = "begin " + strings.Repeat("line of the script\n", 20000) + " beyond"
	})
	for _, w := range []string{"begin", "script", strings.Repeat("ü", 60), long} {
		if d := diff([]string{r.ID}, e.found(t, w)); d != "" {
			t.Errorf("%.20s finds:\n%s", w, d)
		}
	}
}
