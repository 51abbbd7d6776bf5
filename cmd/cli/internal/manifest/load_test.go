package manifest

import (
	"bytes"
	"encoding/json"
	cmdline "flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = cmdline.Bool("update", false, "write schema.json of the API document")

// TestSchemaIsGolden: the schemas in the program are those of the API document.
func TestSchemaIsGolden(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../../e2e/golden/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Schema apiSchema }
			}
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(raw, &api); err != nil {
		t.Fatal(err)
	}
	want := apiDocument{Bodies: map[string]string{}, Schemas: map[string]*apiSchema{}}
	var add func(s *apiSchema)
	add = func(s *apiSchema) {
		if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok && want.Schemas[name] == nil {
			var named apiSchema
			if err := json.Unmarshal(api.Components.Schemas[name], &named); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want.Schemas[name] = &named
			add(&named)
		}
		for _, p := range s.Properties {
			add(p)
		}
		if s.Items != nil {
			add(s.Items)
		}
	}
	for _, k := range Kinds() {
		operation, ok := api.Paths[k.body]["post"]
		if !ok {
			operation = api.Paths[k.body]["put"]
		}
		body := operation.RequestBody.Content["application/json"].Schema
		add(&body)
		want.Bodies[k.body] = strings.TrimPrefix(body.Ref, "#/components/schemas/")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(want); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(b.String(), string(document)); d != "" {
		t.Errorf("run `make golden` (-document +program):\n%s", d)
	}
}
