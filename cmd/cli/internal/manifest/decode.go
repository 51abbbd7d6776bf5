package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// decoder makes one document from YAML.
type decoder struct {
	*reader
	file *file
	doc  *Document
	full bool // a limit was reached and reported
}

func (d *decoder) wrong(n *yaml.Node, at, format string, args ...any) {
	d.file.problems = append(d.file.problems,
		Problem{File: d.doc.File, Line: n.Line, Path: at, Text: fmt.Sprintf(format, args...)})
}

// enter follows an alias and counts the values made; ok is false beyond the limits.
func (d *decoder) enter(n *yaml.Node, at string, depth int) (*yaml.Node, bool) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.values--
	d.size -= int64(len(n.Value))
	switch {
	case d.full:
		return n, false
	case d.values < 0 || d.size < 0:
		d.full = true
		d.wrong(n, at, "the documents are too large")
		return n, false
	case depth > maxDepth:
		d.full = true
		d.wrong(n, at, "nests deeper than %d levels", maxDepth)
		return n, false
	}
	d.doc.lines[at] = n.Line
	return n, true
}

// entries calls fn with every member of a mapping.
func (d *decoder) entries(n *yaml.Node, at string, fn func(key string, k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, at, "must be an object")
		return
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		for k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		switch {
		case k.Kind != yaml.ScalarNode:
			d.wrong(k, at, "names of members must be texts")
		case k.Value == "<<" && k.Style == 0:
			d.wrong(k, at, "merge keys are not allowed")
		case seen[k.Value]:
			d.wrong(k, join2(at, k.Value), "is set twice")
		default:
			seen[k.Value] = true
			fn(k.Value, k, v)
		}
	}
}

func join2(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func (d *decoder) document(n *yaml.Node) {
	var kind Kind
	var spec, org *yaml.Node
	known := false
	n, ok := d.enter(n, "", 0)
	if !ok {
		return
	}
	d.entries(n, "", func(key string, k, v *yaml.Node) {
		switch key {
		case "kind":
			name := d.text(v, key)
			if kind, known = KindOf(name); !known || kind.Name != name {
				known = false
				d.wrong(v, key, "%q is unknown%s", name, choices(name, "kinds", Names()))
			}
			d.doc.Kind = name
		case "name":
			d.doc.Name = d.text(v, key)
		case "org":
			d.doc.Org, org = d.text(v, key), v
		case "spec":
			spec = v
		default:
			d.unknown(k, key, []string{"kind", "name", "org", "spec"})
		}
	})
	if d.doc.Kind == "" && n.Kind == yaml.MappingNode {
		d.wrong(n, "kind", "is missing; it is one of %s", strings.Join(Names(), ", "))
	}
	switch {
	case n.Kind != yaml.MappingNode:
	case kind.Name == Grant && d.doc.Name != "":
		d.wrong(n, "name", "is not of a grant: its subject and its object identify it")
	case kind.Name != Grant && strings.TrimSpace(d.doc.Name) == "":
		d.wrong(n, "name", "is missing")
	}
	if known && !kind.Scoped && d.doc.Org != "" {
		d.wrong(org, "org", "must be absent: %s belongs to no organization", article(kind.Name))
	}
	if known && spec != nil && spec.Tag != "!!null" {
		d.doc.Spec = d.fields(kind.of(map[string]any{"kind": kindIn(spec)}), spec, "spec", 1)
	}
	if d.doc.Spec == nil {
		d.doc.Spec = map[string]any{}
	}
	d.rules(n, spec)
}

// kindIn returns the member kind, at any position.
func kindIn(spec *yaml.Node) string {
	for spec.Kind == yaml.AliasNode {
		spec = spec.Alias
	}
	for i := 0; spec.Kind == yaml.MappingNode && i+1 < len(spec.Content); i += 2 {
		if spec.Content[i].Value == "kind" {
			return spec.Content[i+1].Value
		}
	}
	return ""
}

func (d *decoder) fields(members []member, n *yaml.Node, at string, depth int) map[string]any {
	n, ok := d.enter(n, at, depth)
	if !ok {
		return nil
	}
	out := make(map[string]any)
	d.entries(n, at, func(key string, k, v *yaml.Node) {
		in := join2(at, key)
		i := slices.IndexFunc(members, func(m member) bool { return m.name == key || m.beside && m.name+"_file" == key })
		if i < 0 {
			if in != "spec."+secretMember || d.doc.Kind != Credential {
				d.unknown(k, in, memberNames(members))
			}
			return
		}
		m := &members[i]
		if _, there := out[m.name]; there {
			d.wrong(k, in, "%s and %s_file exclude each other", m.name, m.name)
			return
		}
		if m.name != key {
			d.fromFile(m, v, in, out)
			return
		}
		if x := d.member(m, v, in, depth+1); x != nil {
			out[m.name] = x
		}
	})
	return out
}

// unknown reports a member that does not exist.
func (d *decoder) unknown(n *yaml.Node, at string, names []string) {
	d.wrong(n, at, "is unknown%s", choices(at[strings.LastIndexByte(at, '.')+1:], "members", names))
}

func (d *decoder) fromFile(m *member, v *yaml.Node, in string, out map[string]any) {
	name := d.text(v, in)
	content, err := d.beside(d.file, name, Problem{File: d.doc.File, Line: v.Line, Path: in})
	if err != nil {
		d.wrong(v, in, "%v", err)
		return
	}
	d.doc.Texts = append(d.doc.Texts, name)
	out[m.name] = content
}

func memberNames(members []member) []string {
	var out []string
	for i := range members {
		out = append(out, members[i].name)
		if members[i].beside {
			out = append(out, members[i].name+"_file")
		}
	}
	return out
}

// member reads one member, nil if it is absent.
func (d *decoder) member(m *member, n *yaml.Node, at string, depth int) any {
	n, ok := d.enter(n, at, depth)
	if !ok || plainNull(n) {
		return nil
	}
	switch m.shape {
	case text:
		return d.text(n, at)
	case number:
		if n.Kind == yaml.ScalarNode && n.Style == 0 && wholeForm.MatchString(n.Value) {
			return json.Number(n.Value)
		}
		d.wrong(n, at, "must be a whole number")
		return nil
	case flag:
		if v, isFlag := scalar(n).(bool); isFlag && n.Kind == yaml.ScalarNode {
			return v
		}
		d.wrong(n, at, "must be true or false")
		return nil
	case pairs:
		out := map[string]any{}
		d.entries(n, at, func(key string, _, v *yaml.Node) {
			out[key] = d.text(v, join2(at, key))
		})
		return out
	case object:
		if n.Kind != yaml.MappingNode {
			d.wrong(n, at, "must be an object")
			return nil
		}
		return d.value(n, at, depth)
	case value:
		return d.value(n, at, depth)
	case ref:
		return d.ref(m.to, n, at)
	case subject:
		return d.subject(m.among, n, at)
	case record:
		return d.fields(m.fields, n, at, depth)
	default:
		return d.list(m, n, at, depth)
	}
}

// list reads a member with several values.
func (d *decoder) list(m *member, n *yaml.Node, at string, depth int) any {
	if n.Kind != yaml.SequenceNode {
		d.wrong(n, at, "takes a list")
		return nil
	}
	out := make([]any, 0, len(n.Content))
	for i, x := range n.Content {
		in := fmt.Sprintf("%s[%d]", at, i)
		x, ok := d.enter(x, in, depth+1)
		if !ok {
			return nil
		}
		switch m.shape {
		case texts:
			out = append(out, d.text(x, in))
		case refs:
			out = append(out, d.ref(m.to, x, in))
		case subjects:
			out = append(out, d.subject(m.among, x, in))
		default:
			out = append(out, d.fields(m.fields, x, in, depth+1))
		}
		if m.set {
			d.once(x, in, out)
		}
	}
	return out
}

func (d *decoder) ref(kind string, n *yaml.Node, at string) any {
	if n.Kind != yaml.MappingNode {
		return Ref{Key: Key{Kind: kind, Name: d.text(n, at)}, Bare: true}
	}
	r := Ref{Key: Key{Kind: kind}}
	d.entries(n, at, func(key string, k, v *yaml.Node) {
		switch key {
		case "name":
			r.Name = d.text(v, join2(at, key))
		case "org":
			r.Org = d.text(v, join2(at, key))
		default:
			d.unknown(k, join2(at, key), []string{"name", "org"})
		}
	})
	return r
}

// text reads a scalar as written, whatever its YAML type is.
func (d *decoder) text(n *yaml.Node, at string) string {
	n, ok := d.enter(n, at, 0)
	switch {
	case !ok || plainNull(n):
		return ""
	case n.Kind != yaml.ScalarNode:
		d.wrong(n, at, "takes a text")
		return ""
	case !plainTag(n):
		d.wrong(n, at, "tags such as %s are not allowed", n.Tag)
		return ""
	}
	return n.Value
}

// value reads anything as the JSON that it means.
func (d *decoder) value(n *yaml.Node, at string, depth int) any {
	n, ok := d.enter(n, at, depth)
	if !ok {
		return nil
	}
	if !plainTag(n) {
		d.wrong(n, at, "tags such as %s are not allowed", n.Tag)
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		d.entries(n, at, func(key string, _, v *yaml.Node) { out[key] = d.value(v, join2(at, key), depth+1) })
		return out
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for i, x := range n.Content {
			out = append(out, d.value(x, fmt.Sprintf("%s[%d]", at, i), depth+1))
			if d.full {
				return nil
			}
		}
		return out
	default:
		return scalar(n)
	}
}

var (
	wholeForm  = lazyregexp.New(`^-?(0|[1-9][0-9]*)$`)
	numberForm = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

// scalar gives a plain word the type that it has in JSON. Other YAML types (yes, 0777, 1_000, dates) stay texts.
func scalar(n *yaml.Node) any {
	switch {
	case n.Style != 0:
		return n.Value
	case plainNull(n):
		return nil
	case slices.Contains([]string{"true", "True", "TRUE"}, n.Value):
		return true
	case slices.Contains([]string{"false", "False", "FALSE"}, n.Value):
		return false
	case numberForm.MatchString(n.Value):
		return json.Number(n.Value)
	default:
		return n.Value
	}
}

func plainNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && slices.Contains([]string{"", "~", "null", "Null", "NULL"}, n.Value)
}

// plainTag reports whether a value has no tag other than that of a text.
func plainTag(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle == 0 || n.Kind == yaml.ScalarNode && n.Tag == "!!str"
}
