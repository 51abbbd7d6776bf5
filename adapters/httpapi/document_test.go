package httpapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden API document")

// golden is shared with the tests of the whole server.
const golden = "../../e2e/golden/openapi.json"

func TestDocumentIsGolden(t *testing.T) {
	t.Parallel()
	f := setup(t, whole)
	a := f.call("GET", "/openapi.json", "", "")
	if a.status != 200 || a.header.Get("Content-Type") != "application/openapi+json" {
		t.Fatalf("%d %v", a.status, a.header)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, a.body, "", "  "); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
		t.Errorf("the API document changed; run this test with -update where that is meant (-want +got):\n%s", d)
	}
	if y := f.call("GET", "/openapi.yaml", "", ""); !strings.Contains("\n"+string(y.body), "\nopenapi: 3.1.0\n") {
		t.Errorf("yaml: %.200s", y.body)
	}
}

func TestEveryOperationIsDescribed(t *testing.T) {
	t.Parallel()
	f := setup(t, whole)
	id := regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)+$`)
	seen := map[string]bool{}
	for _, op := range operations(f) {
		where := op.Method + " " + op.Path
		if op.Summary == "" || !id.MatchString(op.OperationID) || seen[op.OperationID] || len(op.Tags) != 1 {
			t.Errorf("%s: summary %q, id %q", where, op.Summary, op.OperationID)
		}
		seen[op.OperationID] = true
		access, _ := op.Extensions["x-access"].(string)
		if (access == "public") != (len(op.Security) == 0) {
			t.Errorf("%s: access %q with security %v", where, access, op.Security)
		}
		if _, ok := op.Extensions["x-mutates"].(bool); !ok {
			t.Errorf("%s does not say whether it changes something", where)
		}
		example, errors := false, 0
		for code, r := range op.Responses {
			n, err := strconv.Atoi(code)
			if err != nil || n == 422 {
				t.Errorf("%s: status %s", where, code)
			}
			if n == 204 || n == 302 {
				example = true
			}
			for media, m := range r.Content {
				if n < 300 && m.Example != nil && m.Schema != nil {
					example = true
				}
				if n >= 400 && media == "application/problem+json" && m.Schema != nil {
					errors++
				}
			}
		}
		if !example || errors < 2 {
			t.Errorf("%s: example %t, %d error codes", where, example, errors)
		}
		if op.RequestBody != nil {
			for _, m := range op.RequestBody.Content {
				if m.Example == nil || m.Schema == nil {
					t.Errorf("%s: no example of its body", where)
				}
			}
		}
	}
}

// TestExamplesOfRequestsWork sends every request example to its operation.
func TestExamplesOfRequestsWork(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, op := range operations(f) {
		if op.RequestBody == nil {
			continue
		}
		body, err := json.Marshal(op.RequestBody.Content["application/json"].Example)
		if err != nil {
			t.Fatal(err)
		}
		a := f.call(op.Method, strings.ReplaceAll(op.Path, "{id}", knownRun), "admin", string(body))
		if a.status >= 300 {
			t.Errorf("%s: %d %s", op.OperationID, a.status, a.body)
		}
	}
}
