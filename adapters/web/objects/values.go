package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// textOf writes a stored value into a field of text. Lists have a line for each value.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		return strings.Join(textsOf(v), "\n")
	case map[string]any:
		return jsonOf(v)
	}
	return fmt.Sprint(v)
}

// textsOf returns the values of a list.
func textsOf(v any) []string {
	switch v := v.(type) {
	case []any:
		out := make([]string, 0, len(v))
		for _, x := range v {
			out = append(out, textOf(x))
		}
		return out
	case string:
		if v != "" {
			return []string{v}
		}
	}
	return nil
}

// jsonOf writes a nested value. A text is taken as it is: the query of a new record's page has one.
func jsonOf(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case []any:
		if len(x) == 0 {
			return ""
		}
	case map[string]any:
		if len(x) == 0 {
			return ""
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// pairsOf writes an object of texts as lines. ok is false for a value that lines cannot hold.
func pairsOf(v any) (text string, ok bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case map[string]any:
		lines := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			x, isText := v[name].(string)
			if !isText || strings.ContainsAny(x, "\r\n") || strings.ContainsAny(name, "=\r\n") ||
				strings.TrimSpace(name) != name || name == "" {
				return "", false
			}
			lines = append(lines, name+"="+x)
		}
		return strings.Join(lines, "\n"), true
	}
	return "", false
}

// sumsOf returns a short sum of each member, by which a form that is refused later finds what changed meanwhile.
func sumsOf(stored map[string]any) string {
	q := url.Values{}
	for name, v := range stored {
		q.Set(name, sumOf(v))
	}
	return q.Encode()
}

func sumOf(v any) string {
	h := fnv.New64a()
	_ = json.NewEncoder(h).Encode(v) // a hash takes all that is written
	return fmt.Sprintf("%x", h.Sum64())
}

// changed is a member that differs from the record that a form was made of.
type changed struct{ Label, Now string }

// changedSince returns what differs from the record with the sums.
func (b *builder) changedSince(sums string) (out []changed) {
	before, err := url.ParseQuery(sums)
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(b.stored)) {
		if name == "updated_at" || before.Get(name) == sumOf(b.stored[name]) {
			continue
		}
		out = append(out, changed{Label: b.words(name).Label, Now: textOf(b.stored[name])})
	}
	for name := range before {
		if _, ok := b.stored[name]; !ok {
			out = append(out, changed{Label: b.words(name).Label})
		}
	}
	slices.SortFunc(out, func(x, y changed) int { return strings.Compare(x.Label, y.Label) })
	return out
}
