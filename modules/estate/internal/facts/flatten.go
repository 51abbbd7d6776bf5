package facts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

const (
	// maxDepth and maxKey bound keys: what lies deeper, or would have a longer key, is one value.
	maxDepth = 32
	maxKey   = 512
	// maxSize bounds the keys and values of a document together. A long name above many values is repeated in each key.
	maxSize = 8 << 20
)

// Rules decide what becomes of facts by their keys.
type Rules struct{ volatile, unordered patterns }

// New makes rules of the patterns of estate.VolatileFacts and further ones. Errors: an Invalid fault names the pattern.
func New(volatile []string) (*Rules, error) {
	r := &Rules{}
	var err error
	if r.volatile, err = parse(slices.Concat(estate.VolatileFacts(), volatile)); err != nil {
		return nil, err
	}
	r.unordered, err = parse(estate.UnorderedFacts())
	return r, err
}

// Flatten makes facts of a gathered document, which must be a JSON object. Of several members with one name the last
// one counts. Equal values have equal texts. Errors: Invalid faults.
func (r *Rules) Flatten(document []byte) (stable, volatile estate.Facts, err error) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, nil, fault.Wrap(fault.Invalid, err, "the facts are not valid JSON")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, fault.BadField("facts", "contain more than one document")
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, nil, fault.BadField("facts", "are no object")
	}
	f := flattening{Rules: r, stable: estate.Facts{}, volatile: estate.Facts{}}
	for name, v := range object {
		if err := f.add("", []string{name}, v); err != nil {
			return nil, nil, err
		}
	}
	return f.stable, f.volatile, nil
}

type flattening struct {
	*Rules
	stable, volatile estate.Facts
	size             int
}

// add adds the values below a path, whose last name is not yet in the key.
func (f *flattening) add(prefix string, path []string, v any) error {
	key := prefix + Segment(path[len(path)-1])
	if below := members(v); len(below) > 0 && len(path) < maxDepth && len(key) < maxKey {
		for name, v := range below {
			if err := f.add(key+".", append(path, name), v); err != nil {
				return err
			}
		}
		return nil
	}
	if list, ok := v.([]any); ok && f.Rules.unordered.match(path) {
		slices.SortFunc(list, func(a, b any) int {
			x, _ := a.(string)
			y, _ := b.(string)
			return cmp.Compare(x, y)
		})
	}
	value, err := encode(v)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "a fact has no JSON form")
	}
	if f.size += len(key) + len(value); f.size > maxSize {
		return fault.BadField("facts", "are larger than %d bytes with their keys", maxSize)
	}
	if f.Rules.volatile.match(path) {
		f.volatile[key] = value
	} else {
		f.stable[key] = value
	}
	return nil
}

// members are the parts of a value that have keys of their own: the members of an object, or the objects of a list by a
// text that names each.
func members(v any) map[string]any {
	list, ok := v.([]any)
	if !ok {
		object, _ := v.(map[string]any)
		return object
	}
	for _, by := range []string{"mount", "name", "device", "id"} {
		out := make(map[string]any, len(list))
		for _, item := range list {
			object, _ := item.(map[string]any)
			name, ok := object[by].(string)
			if !ok {
				break
			}
			out[name] = item
		}
		if len(out) == len(list) {
			return out
		}
	}
	return nil
}

// encode returns the JSON of a value. Numbers keep their text.
func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case json.Number:
		return json.RawMessage(v), nil
	case bool:
		return strconv.AppendBool(nil, v), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Segment is a name as a part of a key.
func Segment(name string) string {
	if name != "" && !strings.ContainsAny(name, `."`) {
		return name
	}
	text, err := encode(name)
	if err != nil {
		return name // a text has a JSON form
	}
	return string(text)
}
