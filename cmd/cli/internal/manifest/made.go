package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Made returns the document of an object that comes from no file. JSON of spec has the members of files. Mistakes in it
// are Problems.
func Made(kind, name string, spec any) (*Document, error) {
	raw, err := json.Marshal(map[string]any{"kind": kind, "name": name, "spec": spec})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", Key{Kind: kind, Name: name}, err)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("write %s: %w", Key{Kind: kind, Name: name}, err)
	}
	f := &file{}
	d := &decoder{reader: &reader{values: maxValues, size: MaxBytes}, file: f, doc: &Document{lines: map[string]int{}}}
	d.document(nodeOf(v))
	return d.doc, f.problems.orNil()
}

// nodeOf returns a value of JSON as YAML has it.
func nodeOf(v any) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for name, x := range v {
			n.Content = append(n.Content, nodeOf(name), nodeOf(x))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, x := range v {
			n.Content = append(n.Content, nodeOf(x))
		}
		return n
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: v}
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
	default: // numbers and truth values
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)}
	}
}
