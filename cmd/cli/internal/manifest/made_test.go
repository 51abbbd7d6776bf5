package manifest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMade: texts that YAML would read as something else stay what they are, and mistakes are problems.
func TestMade(t *testing.T) {
	t.Parallel()
	odd := "a\x01\u0085\u2028\r\nb: [yes"
	spec := map[string]any{
		"tool": "bash", "command": odd, "timeout": 60, "dry_run": true, "project": "null",
		"extra_vars": map[string]any{"n": 1e21, "t": "12", "no": nil, "list": []any{"true", false}},
	}
	d, err := Made(Template, odd, spec)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"tool": "bash", "command": odd, "timeout": json.Number("60"), "dry_run": true,
		"project":    Ref{Key: Key{Kind: Project, Name: "null"}, Bare: true},
		"extra_vars": map[string]any{"n": json.Number("1e+21"), "t": "12", "no": nil, "list": []any{"true", false}},
	}
	if diff := cmp.Diff(want, d.Spec); diff != "" || d.Name != odd || d.Kind != Template {
		t.Error(d.Key, diff)
	}
	var problems Problems
	if _, err := Made(Template, "x", map[string]any{"timeout": "soon", "color": 1}); !errors.As(err, &problems) ||
		len(problems) != 2 {
		t.Errorf("mistakes are %v", err)
	}
}
