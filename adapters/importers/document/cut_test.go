package document_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/importers/document"
)

// TestCutsAsTheLibrary: JSON is cut and decoded as the library does it, whatever its texts hold.
func TestCutsAsTheLibrary(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"a": "\"}]\\", "\u0062\"": ["\\\\\"", "", {"c": -1.50e3}], "a": null}`, ` [ ] `, `"x\ud83d\ude00"`, `true`,
		`[[], {}, [{"a": [false, "]"]}], "\\"]`, `{"": {"": 0}}`, "\n{\"a\"\t:\r\n1}\n", `["\\\"", "\\\\", "\\\\\\\"a"]`,
	} {
		var want any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := readJSON([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
		members, list := map[string]any{}, []any{}
		for name, raw := range document.Object([]byte(text)) {
			members[name] = document.Decode(raw)
		}
		for raw := range document.Elements([]byte(text)) {
			list = append(list, document.Decode(raw))
		}
		if m, ok := want.(map[string]any); ok && !reflect.DeepEqual(members, m) {
			t.Errorf("the members of %s are %v", text, members)
		}
		if l, ok := want.([]any); ok && !reflect.DeepEqual(list, l) {
			t.Errorf("the elements of %s are %v", text, list)
		}
	}
}
