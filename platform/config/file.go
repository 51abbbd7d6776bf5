package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a configuration file; a real one has a few kilobytes.
const maxFile = 1 << 20

// file is the content of a configuration file: values as they were written, so that 90d or 007 keep their form, and
// the line of each key. It is a koanf provider.
type file struct {
	path   string
	values map[string]any
	lines  map[string]int
}

func (f *file) Read() (map[string]any, error) { return f.values, nil }

// ReadBytes always fails, since koanf calls it only with a parser.
func (f *file) ReadBytes() ([]byte, error) { return nil, errors.New("a parsed file has no bytes") }

func (f *file) origin(key string) string { return fmt.Sprintf("%s line %d", f.path, f.lines[key]) }

// Section is a key with names below it, each with settings: one value or a list, as they were written.
type Section map[string]map[string][]string

// readFile reads a file of flat keys that known accepts, and of sections. An empty path and an empty file have no keys.
func readFile(path string, sections map[string]*Section, known func(key string) bool) (*file, error) {
	f := &file{path: path, values: make(map[string]any), lines: make(map[string]int)}
	if path == "" {
		return f, nil
	}
	root, err := parse(path)
	if err != nil || root == nil {
		return f, err
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s line %d: expected keys with values", path, root.Line)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if to, ok := sections[key.Value]; ok {
			err = f.section(to, key, value)
		} else {
			err = f.add(key, value, known)
		}
		if err != nil {
			return nil, fmt.Errorf("%s line %d: %w", path, root.Content[i].Line, err)
		}
	}
	return f, nil
}

// parse returns the top node of the only document in a file, nil for an empty file.
func parse(path string) (*yaml.Node, error) {
	raw, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) || (err == nil && len(doc.Content) == 0) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s line %d: more than one document", path, more.Line)
	}
	if top := doc.Content[0]; top.Tag != "!!null" {
		return top, nil
	}
	return nil, nil
}

func readBounded(path string) ([]byte, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer func() { _ = r.Close() }()
	raw, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return raw, nil
}

func (f *file) add(key, value *yaml.Node, known func(string) bool) error {
	if key.Kind != yaml.ScalarNode || !known(key.Value) {
		return fmt.Errorf("unknown key %q", key.Value)
	}
	if first, twice := f.lines[key.Value]; twice {
		return fmt.Errorf("key %q is already set in line %d", key.Value, first)
	}
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	f.lines[key.Value] = key.Line
	switch {
	case value.Tag == "!!null":
		return nil
	case value.Kind == yaml.ScalarNode:
		f.values[key.Value] = value.Value
		return nil
	case value.Kind == yaml.SequenceNode:
		return f.addList(key.Value, value)
	default:
		return fmt.Errorf("%s: expected a value, not keys", key.Value)
	}
}

func (f *file) addList(key string, value *yaml.Node) error {
	list, err := plainList(key, value)
	f.values[key] = list
	return err
}

func plainList(key string, value *yaml.Node) ([]string, error) {
	list := make([]string, 0, len(value.Content))
	for _, item := range value.Content {
		if item.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("%s: expected a list of plain values", key)
		}
		list = append(list, item.Value)
	}
	return list, nil
}

// section reads a key with names and settings below it.
func (f *file) section(to *Section, key, value *yaml.Node) error {
	if first, twice := f.lines[key.Value]; twice {
		return fmt.Errorf("key %q is already set in line %d", key.Value, first)
	}
	f.lines[key.Value] = key.Line
	out := Section{}
	err := eachKey(key.Value, value, func(name string, value *yaml.Node) error {
		if out[name] != nil {
			return fmt.Errorf("%s: %s is set twice", key.Value, name)
		}
		out[name] = map[string][]string{}
		return eachKey(key.Value+": "+name, value, func(setting string, value *yaml.Node) (err error) {
			at := key.Value + ": " + name + ": " + setting
			if _, twice := out[name][setting]; twice {
				return fmt.Errorf("%s is set twice", at)
			}
			switch value.Kind {
			case yaml.ScalarNode:
				out[name][setting] = []string{value.Value}
			case yaml.SequenceNode:
				out[name][setting], err = plainList(at, value)
			default:
				err = fmt.Errorf("%s: expected a value, not keys", at)
			}
			return err
		})
	})
	*to = out
	return err
}

// eachKey calls each for the keys of a mapping. An empty value has none.
func eachKey(at string, node *yaml.Node, each func(key string, value *yaml.Node) error) error {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: expected names with settings", at)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if err := each(node.Content[i].Value, node.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}
