package cli

import (
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
	one, _, _ := call(t, f, "runs", "--json")
	two, _, _ := call(t, f, "runs", "-o", "json")
	if one != two {
		t.Error("--json differs from -o json")
	}
}
