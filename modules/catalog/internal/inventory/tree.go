package inventory

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// tree reads the nodes of a YAML or JSON document.
type tree struct {
	w       *builder
	json    []byte // the document, if it is JSON
	visited int    // number of visited nodes, counted again for each alias
	most    int    // maximum of visited
}

// pair is one member of a mapping.
type pair struct {
	key      any
	at, node *yaml.Node
}

func (t *tree) refuse(n *yaml.Node, format string, args ...any) error {
	if t.json != nil {
		return refuseAt(t.json, n.Column-1, format, args...)
	}
	return refuse(n.Line, n.Column, format, args...)
}

// visit resolves an alias and limits the number of visits.
func (t *tree) visit(n *yaml.Node, depth int) (*yaml.Node, error) {
	for ; n.Kind == yaml.AliasNode; depth++ {
		n = n.Alias
	}
	if t.visited++; t.visited > t.most {
		return nil, t.refuse(n, "more than %d values, aliases counted each time", t.most)
	}
	if depth > maxDepth {
		return nil, t.refuse(n, "more than %d values in one another", maxDepth)
	}
	return n, nil
}

// mapping reports whether Ansible treats the node as a mapping.
func (t *tree) mapping(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && (n.Style&yaml.TaggedStyle == 0 || n.Tag == "!!map") && t.special(n) == nil
}

// special returns the member that marks a JSON object as an encrypted or unsafe value.
func (t *tree) special(n *yaml.Node) *yaml.Node {
	if t.json == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i].Value; k == vaultKey || k == unsafeKey {
			return n.Content[i]
		}
	}
	return nil
}

// empty reports whether the value is false in Python.
func (t *tree) empty(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return len(n.Content) == 0
	}
	v, fault := scalar(n)
	return fault == "" && (v == nil || v == false || v == "" || v == int64(0) || v == 0.0)
}

// null reports whether there is no value.
func null(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	v, fault := scalar(n)
	return fault == "" && v == nil
}

// pairs returns the members of a mapping, merged ones first. A duplicate key keeps the position of the first and the
// value of the last occurrence.
func (t *tree) pairs(n *yaml.Node, depth int) ([]pair, error) {
	flat, err := t.flatten(n, depth)
	if err != nil || len(flat) < 2 {
		return flat, err
	}
	at := make(map[any]int, len(flat))
	out := flat[:0]
	for _, p := range flat {
		id := identity(p.key)
		if i, ok := at[id]; ok {
			out[i].node = p.node
			continue
		}
		at[id] = len(out)
		out = append(out, p)
	}
	return out, nil
}

func (t *tree) flatten(n *yaml.Node, depth int) ([]pair, error) {
	n, err := t.visit(n, depth)
	if err != nil {
		return nil, err
	}
	var merged []pair
	own := make([]pair, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, err := t.visit(n.Content[i], depth)
		if err != nil {
			return nil, err
		}
		if k.Kind == yaml.ScalarNode && k.Style == 0 && k.Value == "<<" && t.json == nil {
			more, err := t.merge(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		v, err := t.key(k)
		if err != nil {
			return nil, err
		}
		own = append(own, pair{v, k, n.Content[i+1]})
	}
	if merged == nil {
		return own, nil
	}
	return append(merged, own...), nil
}

// merge reads the value of <<: a mapping, or a list of mappings where earlier ones take precedence.
func (t *tree) merge(n *yaml.Node, depth int) ([]pair, error) {
	n, err := t.visit(n, depth)
	if err != nil {
		return nil, err
	}
	var out []pair
	switch n.Kind {
	case yaml.MappingNode:
		out, err = t.flatten(n, depth+1)
	case yaml.SequenceNode:
		for i := len(n.Content) - 1; i >= 0 && err == nil; i-- {
			var more []pair
			item, fail := t.visit(n.Content[i], depth+1)
			if fail != nil {
				return nil, fail
			}
			if item.Kind != yaml.MappingNode {
				return nil, t.refuse(item, "expected a mapping to merge")
			}
			more, err = t.flatten(item, depth+1)
			out = append(out, more...)
		}
	default:
		return nil, t.refuse(n, "expected a mapping, or a list of mappings, to merge")
	}
	if t.visited += len(out); t.visited > t.most {
		return nil, t.refuse(n, "more than %d values, aliases counted each time", t.most)
	}
	return out, err
}

// key reads the key of a mapping, which must be a scalar.
func (t *tree) key(k *yaml.Node) (any, error) {
	if k.Kind != yaml.ScalarNode {
		return nil, t.refuse(k, "expected a scalar as key of a mapping")
	}
	v, fault := scalar(k)
	if fault != "" {
		return nil, t.refuse(k, "%s", fault)
	}
	if _, isMap := v.(map[string]any); isMap {
		return nil, t.refuse(k, "expected a plain text as key of a mapping")
	}
	return v, nil
}

// value returns the value of a node.
func (t *tree) value(n *yaml.Node, depth int) (any, error) {
	n, err := t.visit(n, depth)
	if err != nil {
		return nil, err
	}
	if n.Kind == yaml.ScalarNode {
		v, fault := scalar(n)
		if fault != "" {
			return nil, t.refuse(n, "%s", fault)
		}
		if m, ok := v.(moment); ok {
			return string(m), nil
		}
		return v, nil
	}
	if s := t.special(n); s != nil {
		return t.specialValue(n, s, depth)
	}
	tag := n.Tag
	if n.Style&yaml.TaggedStyle == 0 {
		tag = ""
	}
	var v any
	switch {
	case n.Kind == yaml.SequenceNode && (tag == "!!omap" || tag == "!!pairs"):
		return t.couples(n, depth)
	case n.Kind == yaml.SequenceNode && (tag == "" || tag == "!!seq" || tag == "!unsafe"):
		v, err = t.list(n, depth)
	case n.Kind == yaml.MappingNode && (tag == "" || tag == "!!map" || tag == "!unsafe"):
		v, err = t.object(n, depth)
	default:
		return nil, t.refuse(n, "expected a value that Ansible knows and JSON can hold, got the tag %s", short(n.Tag))
	}
	if tag == "!unsafe" {
		v = unsafe(v)
	}
	return v, err
}

func (t *tree) list(n *yaml.Node, depth int) (any, error) {
	out := make([]any, len(n.Content))
	for i, c := range n.Content {
		v, err := t.value(c, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// couples reads a list of mappings with one member each (!!omap, !!pairs).
func (t *tree) couples(n *yaml.Node, depth int) (any, error) {
	out := make([]any, len(n.Content))
	for i, c := range n.Content {
		item, err := t.visit(c, depth+1)
		if err != nil {
			return nil, err
		}
		if item.Kind != yaml.MappingNode || len(item.Content) != 2 {
			return nil, t.refuse(item, "expected a mapping of one member")
		}
		couple, err := t.list(&yaml.Node{Content: item.Content}, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = couple
	}
	return out, nil
}

func (t *tree) object(n *yaml.Node, depth int) (any, error) {
	members, err := t.pairs(n, depth+1)
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(members))
	for _, m := range members {
		name, ok := jsonKey(m.key)
		if !ok {
			return nil, t.refuse(m.at, "expected a number or a text as key, got a date")
		}
		if out[name], err = t.value(m.node, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// specialValue reads Ansible's JSON form of an encrypted or unsafe value; other members of the object are ignored.
func (t *tree) specialValue(n, member *yaml.Node, depth int) (any, error) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i] != member {
			continue
		}
		v, err := t.value(n.Content[i+1], depth+1)
		if err != nil || member.Value == unsafeKey {
			return unsafe(v), err
		}
		text, ok := v.(string)
		if !ok {
			return nil, t.refuse(n.Content[i+1], "expected the text of an encrypted value in %s", vaultKey)
		}
		return map[string]any{vaultKey: text}, nil
	}
	return nil, t.refuse(n, "expected a member %s", strconv.Quote(member.Value))
}

// unsafe marks all texts in a value as never templates.
func unsafe(v any) any {
	switch v := v.(type) {
	case string:
		return map[string]any{unsafeKey: v}
	case []any:
		for i := range v {
			v[i] = unsafe(v[i])
		}
	case map[string]any:
		for k := range v {
			if k != vaultKey && k != unsafeKey {
				v[k] = unsafe(v[k])
			}
		}
	}
	return v
}
