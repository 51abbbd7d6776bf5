package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

var yamlLine = lazyregexp.New(`line (\d+): (.*)`)

// The limits of YAML.
const (
	nodeSize = 250       // bytes in memory of what the parser makes of a value, and of the value
	maxYAML  = 32 << 20  // bytes of all keys and values, aliases expanded
	maxNodes = 1_000_000 // values, aliases expanded
)

// YAML decodes a body that is one YAML document. Values of the type any are those of JSON: nil, bool, json.Number,
// string, []any and map[string]any. Aliases are expanded within the limits; merge keys are applied.
func YAML(body []byte, into any) error {
	body, err := Text(body)
	if err != nil {
		return err
	}
	if nodes(body) > maxMemory/nodeSize {
		return malformed(0, "the YAML has too many values; export it as JSON if the product can")
	}
	var value any
	if lines, ok := plainLines(body); ok {
		value = lines
	} else if whole, ok := inParts(body, partSize); ok {
		value = whole
	} else if value, err = yamlValue(body, &budget{values: maxNodes, bytes: maxYAML}); err != nil {
		return err
	}
	if into, ok := into.(*any); ok {
		*into = value
		return nil
	}
	// The way through JSON gives the same types and the same faults for both notations.
	text, err := json.Marshal(value)
	if err != nil {
		return malformed(0, "the YAML has a value that JSON cannot hold")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return malformed(0, "%s", misplaced(kind))
		}
		return malformed(0, "the YAML is not valid")
	}
	return nil
}

// nodes estimates how many values YAML has, before anything is built from it. Text that looks like YAML counts too.
func nodes(body []byte) int {
	n := 1
	for i, c := range body {
		switch c {
		case ',', '[', '{':
			n++
		case '-', '?':
			if i+1 == len(body) || body[i+1] <= ' ' {
				n++
			}
		case ':':
			if i+1 == len(body) || body[i+1] <= ' ' || i > 0 && (body[i-1] == '"' || body[i-1] == '\'') {
				n += 2
			}
		}
	}
	return n
}

// plainLine matches a line of a name and a plain text, an address or a number, which every version of YAML reads alike.
var plainLine = lazyregexp.New(`^([A-Za-z_][A-Za-z0-9_]*): (?:([A-Za-z][A-Za-z0-9_./@-]*|[0-9]+(?:\.[0-9]+){3})|` +
	`(0|[1-9][0-9]{0,17}))$`)

// plainLines reads the variables of most hosts, which are a few lines each, and false for other texts: the parser takes
// ten times as long for them as for the rest of an export.
func plainLines(body []byte) (map[string]any, bool) {
	const most = 1024 // bytes
	if len(body) > most {
		return nil, false
	}
	text := strings.TrimPrefix(string(body), "---\n")
	out := make(map[string]any)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		m := plainLine.FindStringSubmatch(line)
		if m == nil {
			return nil, false
		}
		switch strings.ToLower(m[2]) {
		case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
			return nil, false
		}
		if _, twice := out[m[1]]; twice {
			return nil, false
		}
		if out[m[1]] = m[2]; m[2] == "" {
			out[m[1]] = json.Number(m[3])
		}
	}
	return out, true
}

// yamlValue returns the plain value of the only document.
func yamlValue(body []byte, left *budget) (any, error) {
	d := yaml.NewDecoder(bytes.NewReader(body))
	var root, more yaml.Node
	if err := d.Decode(&root); errors.Is(err, io.EOF) {
		return nil, malformed(0, "the document is empty")
	} else if err != nil {
		return nil, yamlFault(err)
	}
	if err := d.Decode(&more); err == nil && !empty(&more) {
		return nil, malformed(more.Line, "a second YAML document follows")
	} else if err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlFault(err)
	}
	return plainValue(&root, 0, left)
}

// empty reports whether a document has no value, as after a separator at the end.
func empty(n *yaml.Node) bool { return n.Content[0].Tag == "!!null" && n.Content[0].Value == "" }

func yamlFault(err error) error {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return malformed(n, "the YAML is not valid: %s", m[2])
	}
	return malformed(0, "the YAML is not valid")
}

// budget is what the values of a document may still need.
type budget struct{ values, bytes int }

func plainValue(n *yaml.Node, level int, left *budget) (any, error) {
	left.values--
	left.bytes -= len(n.Value)
	if left.values < 0 || left.bytes < 0 {
		return nil, malformed(n.Line, "the YAML has more than %d values, or %d MiB of them", maxNodes, maxYAML>>20)
	}
	if level > MaxDepth {
		return nil, malformed(n.Line, "the YAML nests deeper than %d levels, or refers to itself", MaxDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return plainValue(n.Content[0], level+1, left)
	case yaml.AliasNode:
		return plainValue(n.Alias, level+1, left)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := plainValue(c, level+1, left)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case yaml.MappingNode:
		return plainMap(n, level, left)
	default:
		return scalar(n)
	}
}

func plainMap(n *yaml.Node, level int, left *budget) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	var merged []any
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, malformed(key.Line, "a key of the YAML is not a text")
		}
		left.bytes -= len(key.Value)
		v, err := plainValue(value, level+1, left)
		if err != nil {
			return nil, err
		}
		if key.Tag == "!!merge" {
			merged = append(merged, v)
			continue
		}
		if _, ok := out[key.Value]; ok {
			return nil, malformed(key.Line, "a key of the YAML occurs twice")
		}
		out[key.Value] = v
	}
	merge(out, merged)
	return out, nil
}

// merge adds the members of a merged map, or of a list of maps, that are not set.
func merge(out map[string]any, from any) {
	switch from := from.(type) {
	case map[string]any:
		for k, v := range from {
			if _, ok := out[k]; !ok {
				out[k] = v
			}
		}
	case []any:
		for _, m := range from {
			merge(out, m)
		}
	}
}

// scalar returns a plain value. Dates, binaries and values with tags of other languages stay the text that they are.
func scalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return b, nil
		}
	case "!!int":
		var i int64
		if n.Decode(&i) == nil {
			return json.Number(strconv.FormatInt(i, 10)), nil
		}
	case "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
		var f float64
		if n.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
		}
	}
	return n.Value, nil
}
