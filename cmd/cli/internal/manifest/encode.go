package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// longText is the maximum number of lines of a text that stays in its document, if the member allows a separate file.
const longText = 3

// Encode writes a document with resolved references, in the order of the contract. Long texts are written to separate
// files named after base, which is the document's file name without its extension; x reports which names need their
// organization.
func Encode(d *Document, base string, x Index) (raw []byte, beside map[string]string, err error) {
	k, _ := KindOf(d.Kind)
	w := &writer{base: base, org: d.Org, index: x, beside: map[string]string{}}
	n := mapping()
	add(n, "kind", str(d.Kind))
	if d.Kind != Grant {
		add(n, "name", str(d.Name))
	}
	if d.Org != "" {
		add(n, "org", str(d.Org))
	}
	spec := Normal(k, d.Spec)
	if fields := w.fields(k.of(spec), spec, ""); len(fields.Content) > 0 {
		add(n, "spec", fields)
	}
	raw, err = render(n)
	return raw, w.beside, err
}

func render(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	if err := e.Close(); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

// encodeValue renders one value of a member as YAML.
func encodeValue(m *member, v any) ([]byte, error) {
	w := &writer{}
	return render(w.member(m, v, ""))
}

// writer makes YAML of members.
type writer struct {
	base   string // empty: every text stays
	org    string
	index  Index
	beside map[string]string
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func add(n *yaml.Node, key string, v *yaml.Node) {
	n.Content = append(n.Content, str(key), v)
}

func (w *writer) fields(members []member, spec map[string]any, at string) *yaml.Node {
	n := mapping()
	for i := range members {
		m := &members[i]
		v, ok := spec[m.name]
		if !ok {
			continue
		}
		in := strings.TrimPrefix(at+"."+m.name, ".")
		if s, isText := v.(string); isText && m.beside && w.base != "" && long(s) {
			name := w.base + "." + in + suffix(in, spec)
			w.beside[name] = s
			add(n, m.name+"_file", str(path.Base(name)))
			continue
		}
		add(n, m.name, w.member(m, v, in))
	}
	return n
}

// suffix returns the file extension of a text, for editors.
func suffix(at string, spec map[string]any) string {
	if at == "content" {
		switch format, _ := spec["format"].(string); format {
		case "yaml", "json":
			return "." + format
		}
		return ".ini"
	}
	tool, _ := spec["tool"].(string)
	if ext, ok := map[string]string{"bash": ".sh", "python": ".py", "powershell": ".ps1", "go": ".go"}[tool]; ok {
		return ext
	}
	return ".txt"
}

func long(s string) bool {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n > longText
}

func (w *writer) member(m *member, v any, at string) *yaml.Node {
	switch x := v.(type) {
	case Ref:
		if m.shape == subject {
			return str(noun(x.Kind) + ":" + cmp.Or(x.ID, x.Name))
		}
		return w.ref(x)
	case map[string]any:
		if m.shape == record {
			return w.fields(m.fields, x, at)
		}
		n := mapping()
		for _, k := range slices.Sorted(maps.Keys(x)) {
			add(n, k, w.member(&member{shape: value}, x[k], at))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i, item := range x {
			one := &member{shape: value}
			switch m.shape {
			case records:
				one = &member{shape: record, fields: m.fields}
			case subjects:
				one.shape = subject
			}
			n.Content = append(n.Content, w.member(one, item, at+"-"+strconv.Itoa(i+1)))
		}
		return n
	case string:
		return str(x)
	case json.Number:
		return digits(string(x))
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(x)}
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
}

// digits writes a number unchanged. The library tags a value whose text looks like another type.
func digits(s string) *yaml.Node {
	tag := "!!float"
	if wholeForm.MatchString(s) {
		_, signed := strconv.ParseInt(s, 10, 64)
		_, unsigned := strconv.ParseUint(s, 10, 64)
		if signed == nil || unsigned == nil {
			tag = "!!int"
		}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: s}
}

// ref writes a name, with its organization only if the name alone would mean another object.
func (w *writer) ref(r Ref) *yaml.Node {
	if r.ID != "" {
		return str(r.ID)
	}
	if r.Bare || w.index == nil {
		return str(r.Name)
	}
	if k, err := w.index.Find(r.Kind, r.Name, w.org); err == nil && k == r.Key {
		return str(r.Name)
	}
	n := mapping()
	add(n, "name", str(r.Name))
	add(n, "org", str(r.Org))
	return n
}

var (
	// bareForm matches texts that every reader of YAML reads as texts, except those below.
	bareForm     = lazyregexp.New(`^[A-Za-z0-9_./][A-Za-z0-9_./@+=, -]*([:][A-Za-z0-9_./@+=, -]+)*$`)
	reservedForm = lazyregexp.New(`^(?i:y|n|yes|no|on|off|true|false|null)$`)
	numeric      = lazyregexp.New(`^[-+.]?[0-9][0-9_.:,eExXoObB+-]*$|^\.`)
)

// str writes a text so that it reads as the same text everywhere.
func str(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.Contains(s, "\n") && block(s):
		n.Style = yaml.LiteralStyle
	case !bareForm.MatchString(s) || strings.Contains(s, ": ") || strings.HasSuffix(s, " ") ||
		reservedForm.MatchString(s) || numeric.MatchString(s):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// block reports whether a text of several lines reads well, and reads back the same, as a block.
func block(s string) bool {
	if strings.IndexFunc(s, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) >= 0 {
		return false
	}
	for line := range strings.Lines(s) {
		if strings.HasSuffix(strings.TrimSuffix(line, "\n"), " ") {
			return false
		}
	}
	return s[0] != ' ' && s[0] != '\n' && !strings.HasSuffix(s, "\n\n") && !strings.HasPrefix(s, "---") &&
		!strings.HasPrefix(s, "...")
}

// Slug makes a file name of an object's name: small letters, digits and hyphens, at most 60 of them.
func Slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 60 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "unnamed"
}
