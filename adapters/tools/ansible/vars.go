package ansible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxDepth bounds the nesting of variables.
const maxDepth = 200

// unsafeYAML writes variables as YAML in which every string, at every depth, has the !unsafe tag, except in the
// variables named by templated: Ansible passes such a string on unchanged and never evaluates templates in it. The
// format is YAML rather than JSON, since Ansible's JSON reader interprets special members, such as __ansible_vault.
// Numbers keep their digits.
func unsafeYAML(vars map[string]any, templated []string) ([]byte, error) {
	raw, err := json.Marshal(vars)
	if err != nil {
		return nil, fmt.Errorf("encode the extra variables: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var plain map[string]any
	if err := dec.Decode(&plain); err != nil {
		return nil, fmt.Errorf("encode the extra variables: %w", err)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(plain)) {
		separate(&b, i)
		key(&b, k)
		w := writer{to: &b, tag: "!unsafe "}
		if slices.Contains(templated, k) {
			w.tag = ""
		}
		if err := w.value(plain[k], 1); err != nil {
			return nil, err
		}
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// writer writes values whose strings all carry one tag.
type writer struct {
	to  *bytes.Buffer
	tag string
}

func (w writer) value(v any, depth int) error {
	b := w.to
	if depth > maxDepth {
		return fmt.Errorf("the extra variables are nested deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case json.Number:
		b.WriteString(yamlNumber(v.String()))
	case string:
		b.WriteString(w.tag)
		quote(b, v)
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			separate(b, i)
			if err := w.value(x, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case map[string]any:
		return w.object(v, depth)
	}
	return nil
}

// key writes a key of any length; without the explicit mark YAML limits a key to 1024 characters.
func key(b *bytes.Buffer, k string) {
	b.WriteString("? ")
	quote(b, k)
	b.WriteString(" : ")
}

func (w writer) object(m map[string]any, depth int) error {
	b := w.to
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		separate(b, i)
		key(b, k)
		if err := w.value(m[k], depth+1); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func separate(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

// yamlNumber converts a JSON number to the YAML 1.1 form of the same number: an exponent needs a sign and a point
// before it.
func yamlNumber(n string) string {
	mantissa, exp, ok := strings.Cut(strings.ToLower(n), "e")
	if !ok {
		return n
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if exp[0] != '-' && exp[0] != '+' {
		exp = "+" + exp
	}
	return mantissa + "e" + exp
}

// quote writes a double-quoted YAML string in ASCII.
func quote(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
}
