package awx

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// reference matches a text that is one expression without a literal text, which holds no secret itself.
var reference = lazyregexp.New(`^\s*\{\{[^'"{}]*\}\}\s*$`)

// Bounds of variables, those of the server.
const (
	maxDepth    = 60
	maxVariable = 255       // bytes of a name
	maxExpanded = 1_000_000 // values of a text with aliases that was refused
	maxPart     = 64 << 10  // bytes of a text that is no document
)

// variables returns variables that are an object, or its text in JSON or YAML. It leaves out secrets, and what the
// server refuses, and warns of each.
func (x *reader) variables(o *importer.Object, field string, v any) map[string]any {
	if s, ok := v.(string); ok {
		parsed, err := x.document(s)
		if err != nil {
			draft.Need(o, field, "The variables are neither JSON nor YAML and are left out.")
			return nil
		}
		v = parsed
	}
	if blank(v) {
		if m, ok := v.(map[string]any); !ok || len(m) == 0 {
			return nil
		}
	}
	m, ok := v.(map[string]any)
	if !ok {
		draft.Need(o, field, "The variables are not an object and are left out.")
		return nil
	}
	kept, _ := x.clean(o, field, m, false, 0).(map[string]any)
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// document parses a text within the values that the reader may still read.
func (x *reader) document(s string) (any, error) {
	if s = strings.TrimSpace(s); s == "" || s == "---" {
		return nil, nil
	}
	if x.values <= 0 {
		return nil, importer.Malformed.New("too many values")
	}
	var v any
	if text := []byte(s); s[0] == '{' && json.Valid(text) && document.Depth(text) <= document.MaxDepth {
		v = document.Decode(text)
		x.values -= count(v)
		return v, nil
	}
	err := document.YAML([]byte(s), &v)
	if err != nil && strings.Contains(s, "&") && strings.Contains(s, "*") {
		x.values -= maxExpanded
	}
	x.values -= count(v)
	return v, err
}

func count(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += count(item)
		}
	case map[string]any:
		for _, item := range v {
			n += count(item)
		}
	}
	return n
}

// dropped marks a value that is left out.
type dropped struct{}

// clean returns a value without its secrets. secret tells that the name of the value is one of a secret.
func (x *reader) clean(o *importer.Object, at string, v any, secret bool, depth int) any {
	if depth > maxDepth {
		draft.Need(o, at, "The value is nested too deeply and is left out.")
		return dropped{}
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			path := reserved.Path(at, "."+reserved.Shown(name))
			if name == "" || len(name) > maxVariable || strings.ContainsRune(name, 0) || runs.ReservedMember(name) {
				draft.Need(o, path, "The server does not take a variable of this name, which is left out.")
				continue
			}
			kept := x.clean(o, path, v[name], secret || runs.LooksSecret(name), depth+1)
			if kept != (any)(dropped{}) {
				out[name] = kept
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for i, value := range v {
			if kept := x.clean(o, reserved.Path(at, fmt.Sprintf("[%d]", i)), value, secret, depth+1); kept != (any)(dropped{}) {
				out = append(out, kept)
			}
		}
		return out
	case string:
		return cleanText(o, at, v, secret)
	case json.Number:
		if secret && v != "0" {
			draft.Need(o, at, "A secret is left out; keep it in a credential.")
			return dropped{}
		}
		return v
	default:
		return v
	}
}

func cleanText(o *importer.Object, at, s string, secret bool) any {
	switch {
	case hidden(s):
		draft.Need(o, at, "An encrypted value is left out; keep the secret in a credential.")
	case secret && s != "" && !reference.MatchString(s):
		draft.Need(o, at, "A secret is left out; keep it in a credential.")
	case strings.ContainsRune(s, 0):
		draft.Need(o, at, "A text with a NUL character is left out.")
	default:
		return s
	}
	return dropped{}
}

// hidden reports whether a text stands for a secret, encrypted or not shown.
func hidden(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "$ANSIBLE_VAULT;") || strings.HasPrefix(s, "$encrypted$")
}
