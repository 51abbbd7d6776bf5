package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutputForms prints one list in every form.
func TestOutputForms(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{
		"id": "run_1", "name": "a, \"b\"\nc", "status": "succeeded", "change": "007", "hosts": obj{"ok": 2},
		"log_bytes": 12345678901234567, "warnings": []any{},
	})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--jq", ".runs[].name"}, "a, \"b\"\nc\n"},
		{[]string{"--jq", ".runs[0].hosts, .total"}, "{\n  \"ok\": 2\n}\n7\n"},
		{[]string{"--jq", ".runs[0].log_bytes"}, "12345678901234567\n"},
		{[]string{"--jq", ".runs[] | select(.id == \"x\")"}, ""},
		{[]string{"-o", "template={{range .runs}}{{.id}} {{json .hosts}} {{.log_bytes}}\n{{end}}"},
			"run_1 {\"ok\":2} 12345678901234567\n"},
		{[]string{"-o", "yaml"}, "count: 1\nhas_more: true\nruns:\n" +
			"  - change: \"007\"\n    hosts:\n      ok: 2\n    id: run_1\n" +
			"    log_bytes: 12345678901234567\n    name: |-\n      a, \"b\"\n      c\n    status: succeeded\n" +
			"    warnings: []\ntotal: 7\n"},
		{[]string{"-o", "csv"}, "change,hosts,id,log_bytes,name,status,warnings\n" +
			"007,\"{\"\"ok\"\":2}\",run_1,12345678901234567,\"a, \"\"b\"\"\nc\",succeeded,[]\n"},
	} {
		code, out, errs := call(t, f, append([]string{"runs"}, c.args...)...)
		if code != exitDone || errs != "" {
			t.Errorf("%q: %d %s", c.args, code, errs)
		}
		if d := cmp.Diff(c.want, out); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, d)
		}
	}
	if code, _, errs := call(t, f, "runs", "--jq", ".runs.x"); code != exitFailed || errs == "" {
		t.Errorf("an expression that fails: %d %q", code, errs)
	}
	// The row is the run, also if one of its lists is empty or has objects.
	if _, out, _ := call(t, f, "runs", "run_1", "-o", "csv"); !strings.HasPrefix(out, "change,hosts,id,") {
		t.Errorf("a run as CSV: %s", out)
	}
	one, _, _ := call(t, f, "runs", "--json")
	two, _, _ := call(t, f, "runs", "-o", "json")
	if one != two {
		t.Error("--json differs from -o json")
	}
}

// TestOutputOfSeveralLists: a document with several lists or an empty one has the rows that its command is about.
func TestOutputOfSeveralLists(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, map[string]string{
			"/v1/drift": `{"resources":[{"host":"web","resource":"file /a"},{"host":"db","resource":"file /b"}],` +
				`"coverage":[{"host":"web"},{"host":"db"}],"count":2,"total":2,"hosts":2}`,
			"/v1/estate": estateAnswer, "/v1/estate/diff": estateDiff,
			"/v1/changes/CHG-1": `{"change":"CHG-1","touched":[],"runs":[{"id":"a"},{"id":"b"}],"total":2}`,
			"/v1/license":       `{"tier":"community","state":"none","features":[]}`,
			"/v1/list":          `[{"a":1},2,{"b":3}]`,
		}[r.URL.Path])
	}))
	t.Cleanup(s.Close)
	do := nounCall(t, s.URL)
	for _, c := range []struct{ args, want string }{
		{"drift -o csv", "host,resource\nweb,file /a\ndb,file /b\n"},
		{"drift show -o csv", "host,resource\nweb,file /a\ndb,file /b\n"},
		{"change CHG-1 -o csv", "id\na\nb\n"}, {"api GET /v1/list -o csv", "a,b\n1,\n,3\n"},
		{"license show -o csv", "tier,state,id,customer,not_after,features\ncommunity,none,,,,[]\n"},
		{"estate -o csv", "host,facts,gathered_at,run_id\n" +
			"db\u001b[2J,\"{\"\"ansible_interfaces\"\":[\"\"lo\"\"]," +
			"\"\"ansible_kernel\"\":\"\"6.1\"\"}\",2026-05-01T11:00:00Z,r\n" +
			"web,\"{\"\"ansible_kernel\"\":\"\"6.2\"\"}\",2026-05-01T12:00:00Z,r\n"},
		{"estate show --jq .hosts[1].facts.ansible_kernel", "6.2\n"},
		{"estate list -o template={{.count}}", "2\n"}, {"estate --diff 7d --jq .added[]", "new\n"},
		{"estate --diff 7d -o yaml", "changed:\n  - host: web\n    facts:\n      - key: ansible_kernel\n" +
			"        from: \"6.1\"\n        to: \"6.2\"\n      - key: gone\n        from: null\n" +
			"from: \"2026-04-01T12:00:00Z\"\nto: \"2026-05-01T12:00:00Z\"\nadded:\n  - new\n" +
			"unobserved:\n  - old\nunchanged: 3\nwithheld: 0\n" +
			"horizon: \"2026-05-01T11:00:00Z\"\nbefore_history: true\n"},
		{"estate --diff 7d -o csv", "host,facts\nweb,\"[{\"\"from\"\":\"\"6.1\"\",\"\"key\"\":\"\"ansible_kernel\"\"," +
			"\"\"to\"\":\"\"6.2\"\"},{\"\"from\"\":null,\"\"key\"\":\"\"gone\"\"}]\"\n"},
	} {
		code, out, errs := do(strings.Fields(c.args)...)
		if d := cmp.Diff(c.want, out); d != "" || code != exitDone || errs != "" {
			t.Errorf("%s: %d %s (-want +got):\n%s", c.args, code, errs, d)
		}
	}
}
