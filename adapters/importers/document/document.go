// Package document reads JSON, YAML and XML that nobody vouches for, within bounds of depth and number. Its faults are
// Malformed and name the line.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// The limits of a document.
const (
	MaxDepth = 200
	MaxNodes = 2_000_000 // values of YAML after the expansion of aliases, elements of XML
	maxText  = 64 << 20  // bytes of all values of YAML after the expansion of aliases
)

// Text returns a body without a byte-order mark. A body that is not UTF-8 is Malformed.
func Text(body []byte) ([]byte, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(body) {
		return nil, malformed(0, "the text is not UTF-8")
	}
	return body, nil
}

// JSON decodes a body that is one JSON value. Numbers in values of the type any are json.Number.
func JSON(body []byte, into any) error {
	body, err := Text(body)
	if err != nil {
		return err
	}
	if err := depth(body); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return jsonFault(body, d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return malformed(line(body, d.InputOffset()), "text follows the JSON value")
	}
	return nil
}

// depth refuses JSON that nests too deeply, before anything is built from it.
func depth(body []byte) error {
	n, text, escaped := 0, false, false
	for i, c := range body {
		switch {
		case escaped:
			escaped = false
		case text:
			escaped, text = c == '\\', c != '"'
		case c == '"':
			text = true
		case c == '{' || c == '[':
			if n++; n > MaxDepth {
				return malformed(line(body, int64(i)), "the JSON nests deeper than %d levels", MaxDepth)
			}
		case c == '}' || c == ']':
			n--
		}
	}
	return nil
}

func jsonFault(body []byte, at int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return malformed(line(body, syntax.Offset), "the JSON is not valid: %s", syntax.Error())
	case errors.As(err, &kind):
		return malformed(line(body, kind.Offset), "%q is a %s, which does not belong there", kind.Field, kind.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed(line(body, int64(len(body))), "the JSON ends too early")
	}
	return malformed(line(body, at), "the JSON is not valid")
}

var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

// YAML decodes a body that is one YAML document, or the first of several. Values of the type any are those of JSON: nil,
// bool, json.Number, string, []any and map[string]any. Aliases are expanded within the limits; merge keys are applied.
func YAML(body []byte, into any) error {
	body, err := Text(body)
	if err != nil {
		return err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(body, &root); err != nil {
		return yamlFault(err)
	}
	if root.Kind == 0 {
		return malformed(0, "the document is empty")
	}
	value, err := plainValue(&root, 0, &budget{values: MaxNodes, bytes: maxText})
	if err != nil {
		return err
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
			return malformed(0, "%q is a %s, which does not belong there", kind.Field, kind.Value)
		}
		return malformed(0, "the YAML is not valid")
	}
	return nil
}

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
		return nil, malformed(n.Line, "the YAML has more than %d values, or %d MiB of them", MaxNodes, maxText>>20)
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
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, malformed(key.Line, "a key of the YAML is not a text")
		}
		v, err := plainValue(value, level+1, left)
		if err != nil {
			return nil, err
		}
		if key.Tag == "!!merge" {
			merge(out, v)
			continue
		}
		out[key.Value] = v
	}
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
		if num := json.Number(n.Value); json.Valid([]byte(num)) {
			return num, nil
		}
	}
	return n.Value, nil
}

// line returns the line of an offset, from 1.
func line(body []byte, offset int64) int {
	return 1 + bytes.Count(body[:min(max(offset, 0), int64(len(body)))], []byte("\n"))
}

func malformed(line int, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if line == 0 {
		return importer.Malformed.New("%s", text)
	}
	err := importer.Malformed.New("line %d: %s", line, text)
	err.Fields = []fault.Field{{Location: fmt.Sprintf("line %d", line), Message: text}}
	return err
}
