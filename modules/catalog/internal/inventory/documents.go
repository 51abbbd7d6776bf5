package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// readYAML reads one YAML document. As in Ansible, JSON content is read as JSON, whatever the file name.
func readYAML(content []byte, w *builder) error {
	if trimmed := bytes.TrimLeft(content, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(content) {
		return readJSON(content, w)
	}
	marks, err := countMarks(content)
	if err != nil {
		return err
	}
	dec := yaml.NewDecoder(bytes.NewReader(content))
	var doc, next yaml.Node
	if err = dec.Decode(&doc); errors.Is(err, io.EOF) {
		return refuse(1, 0, "expected a mapping of groups, got nothing")
	} else if err != nil {
		return yamlFault(err)
	}
	if err = dec.Decode(&next); err == nil {
		return refuse(next.Line, 0, "expected one YAML document, got another")
	} else if !errors.Is(err, io.EOF) {
		return yamlFault(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return refuse(1, 0, "expected a mapping of groups, got nothing")
	}
	return (&tree{w: w, most: visits*marks + maxAliased}).top(doc.Content[0])
}

// quoted is a part of the content in a message of the library, which may be a part of a password.
var quoted = lazyregexp.New("'.*'|`.*`|\".*\"")

// yamlFault converts the library's error, which contains the line, to a fault.
func yamlFault(err error) error {
	text := quoted.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "...")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(number); err == nil {
				return refuse(line, 0, "expected YAML: %s", short(what))
			}
		}
	}
	return refuse(1, 0, "expected YAML: %s", short(text)) // the library omits the line if it is the first
}

// countMarks limits the number of values of a document: every value is at the start or follows one of these marks.
func countMarks(content []byte) (int, error) {
	marks := 1
	for i, c := range content {
		switch c {
		case ',', '[', '{':
			marks++
		case ':', '-', '?':
			if i+1 == len(content) || content[i+1] <= ' ' || content[i+1] == ',' {
				marks++
			}
		default:
			continue
		}
		if marks > maxNodes {
			return 0, refuseAt(content, i, "more than %d values in a document", maxNodes)
		}
	}
	return marks, nil
}

// readJSON reads one JSON document.
func readJSON(content []byte, w *builder) error {
	if _, err := countMarks(content); err != nil {
		return err
	}
	var raw json.RawMessage
	if err := json.Unmarshal(content, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return refuseAt(content, int(syntax.Offset)-1, "expected JSON: %s", syntax)
		}
		return refuse(0, 0, "expected JSON: %v", err)
	}
	if at := halfPair(content); at >= 0 {
		return refuseAt(content, at, "expected text, got a half of a surrogate pair")
	}
	d := &jsonDoc{dec: json.NewDecoder(bytes.NewReader(content)), content: content}
	d.dec.UseNumber()
	n, err := d.node(0)
	if err != nil {
		return err
	}
	w.json = content
	return (&tree{w: w, json: content, most: visits * maxNodes}).top(n)
}

// halfPair returns the offset of the first escape of an unpaired surrogate, -1 if there is none.
func halfPair(content []byte) int {
	high := -1
	for i := 0; i < len(content); i++ {
		if content[i] != '\\' || i+1 == len(content) {
			if high >= 0 {
				return high
			}
			continue
		}
		unit := uint64(0)
		if content[i+1] == 'u' && i+6 <= len(content) {
			unit, _ = strconv.ParseUint(string(content[i+2:i+6]), 16, 16)
		}
		switch low := unit >= 0xdc00 && unit < 0xe000; {
		case low && high < 0:
			return i
		case !low && high >= 0:
			return high
		case low:
			high = -1
		case unit >= 0xd800 && unit < 0xdc00:
			high = i
		}
		if i++; unit != 0 {
			i += 4
		}
	}
	return high
}

// jsonDoc converts a valid JSON document to YAML nodes. Their column is an offset in bytes.
type jsonDoc struct {
	dec     *json.Decoder
	content []byte
	nodes   int
}

func (d *jsonDoc) node(depth int) (*yaml.Node, error) {
	t, err := d.dec.Token()
	if err != nil {
		return nil, refuse(0, 0, "expected JSON: %v", err)
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.TaggedStyle, Column: int(d.dec.InputOffset())}
	if d.nodes++; d.nodes > maxNodes || depth > maxDepth {
		return nil, refuseAt(d.content, n.Column, "more than %d values, or %d in one another, in a document", maxNodes,
			maxDepth)
	}
	switch v := t.(type) {
	case nil:
		n.Tag = "!!null"
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(v)
	case string:
		n.Style, n.Value = yaml.DoubleQuotedStyle, v
	case json.Number:
		n.Tag, n.Value = "!!int", string(v)
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case json.Delim:
		n.Style, n.Kind = 0, yaml.SequenceNode
		if v == '{' {
			n.Kind = yaml.MappingNode
		}
		for d.dec.More() {
			child, err := d.node(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = d.dec.Token()
	}
	return n, err
}
