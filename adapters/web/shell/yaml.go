package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// maxNesting bounds how deep the values of a YAML document are.
const maxNesting = 64

// numberForm is a number of JSON, which is one of YAML too.
var numberForm = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// ReadYAML reads one YAML document as the value that its JSON has; a document of comments only is nil. Lines are those
// where the members of a list begin. An error names its line.
func ReadYAML(text string) (v any, lines []int, err error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("has more than one document")
	}
	root := doc.Content[0]
	if v, err = plainValue(root, 0); err != nil {
		return nil, nil, err
	}
	if root.Kind == yaml.SequenceNode {
		for _, n := range root.Content {
			lines = append(lines, n.Line)
		}
	}
	return v, lines, nil
}

func atLine(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

// plainValue returns the value of a node. Aliases are refused: a short text with them may stand for a huge value.
func plainValue(n *yaml.Node, depth int) (any, error) {
	switch {
	case depth > maxNesting:
		return nil, atLine(n, "values are nested more than %d deep", maxNesting)
	case n.Kind == yaml.AliasNode:
		return nil, atLine(n, "aliases such as *%s are not allowed here", n.Value)
	case n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str":
		return nil, atLine(n, "tags such as %s are not allowed here", n.Tag)
	case n.Kind == yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, x := range n.Content {
			v, err := plainValue(x, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case n.Kind == yaml.MappingNode:
		return plainObject(n, depth)
	case n.Style != 0:
		return n.Value, nil
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return nil, nil
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	if numberForm.MatchString(n.Value) {
		return json.Number(n.Value), nil
	}
	return n.Value, nil
}

func plainObject(n *yaml.Node, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			return nil, atLine(k, "the name of a member is not a text")
		}
		if _, ok := out[k.Value]; ok {
			return nil, atLine(k, "the member %q is there twice", k.Value)
		}
		v, err := plainValue(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		out[k.Value] = v
	}
	return out, nil
}

// WriteYAML writes a value that was decoded from JSON. The members that order names come first, in this order. A value
// that the writer cannot write so that ReadYAML reads the same is written as JSON, which is YAML too.
func WriteYAML(v any, order []string) string {
	var out strings.Builder
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	plain, err := json.Marshal(v)
	if err == nil {
		err = e.Encode(nodeOf(v, order))
	}
	if err == nil {
		read, _, readErr := ReadYAML(out.String())
		again, writeErr := json.Marshal(read)
		if readErr == nil && writeErr == nil && string(again) == string(plain) {
			return out.String()
		}
	}
	return string(plain) + "\n"
}

func nodeOf(v any, order []string) *yaml.Node {
	scalar := func(tag, text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text} }
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		slices.SortStableFunc(names, func(a, b string) int { return place(order, a) - place(order, b) })
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range names {
			n.Content = append(n.Content, scalar("!!str", name), nodeOf(v[name], nil))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, x := range v {
			item := nodeOf(x, order)
			if item.Kind != yaml.MappingNode {
				n.Style = yaml.FlowStyle
			}
			n.Content = append(n.Content, item)
		}
		return n
	case json.Number:
		return scalar("", v.String())
	case bool:
		return scalar("!!bool", fmt.Sprint(v))
	case nil:
		return scalar("!!null", "null")
	}
	return scalar("!!str", fmt.Sprint(v))
}

// place returns the place of a name in an order, after all others for one that it lacks.
func place(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}
