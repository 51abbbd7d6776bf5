package types_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/secrets/internal/types"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

// TestTemplates: an accepted template only has placeholders of fields, and no leftover braces of a mistyped one.
func TestTemplates(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"{{key}}", "{{ key }}", "{{nope}}", "{{files.a}}", "{{files.b}}", "{", "}", "{{",
		"}}", "{%", "text", "key", "\n", " "})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
		x := secrets.Type{
			Fields: []secrets.Field{{Name: "key", Type: secrets.Text, Secret: true}},
			Inject: secrets.Injectors{Env: map[string]string{"A": text}, Files: map[string]string{"a": ""}},
		}
		x.Name = "x"
		_, err := types.Checked(x)
		good := true
		for _, found := range secrets.Placeholder.Get().FindAllStringSubmatch(text, -1) {
			good = good && (found[1] == "key" || found[1] == "files.a")
		}
		filled := secrets.Placeholder.ReplaceAllString(text, "-")
		if good = good && !strings.Contains(filled, "{{"); (err == nil) != good ||
			err != nil && !fault.Is(err, fault.Invalid) {
			t.Fatalf("%q: %v, want it accepted: %t", text, err, good)
		}
	})
}

// TestSplit: each input value ends up in exactly one place, and no secret is public.
func TestSplit(t *testing.T) {
	t.Parallel()
	fields := []secrets.Field{
		{Name: "a", Type: secrets.Text}, {Name: "b", Type: secrets.Bool, Default: false},
		{Name: "c", Type: secrets.Text, Secret: true},
		{Name: "d", Type: secrets.Bool, Secret: true},
	}
	value := rapid.OneOf(rapid.SampledFrom([]any{nil, true, false, "", "x", 7.0, []any{"x"}}))
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), value).Draw(t, "given")
		out, err := types.Split(secrets.Type{Fields: fields}, input, nil)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		for name, v := range input {
			visible, isVisible := out.Fields[name]
			text, isSecret := out.Secret[name]
			switch {
			case v == nil || v == "" && name == "a":
				if isSecret || isVisible && name != "b" {
					t.Fatalf("%s was not given", name)
				}
			case name == "c" || name == "d":
				if isVisible || !isSecret || v == "x" && text != "x" || v == true && text != "true" {
					t.Fatalf("%s: %v %v", name, visible, isSecret)
				}
			case isSecret || visible != v:
				t.Fatalf("%s: %v %v", name, visible, isSecret)
			}
		}
	})
}
