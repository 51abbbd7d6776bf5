package ansible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	// unsafeMember is the only member of the object that stands for a text which Ansible must not evaluate.
	unsafeMember = "__ansible_unsafe"
	// maxDepth bounds the nesting of variables.
	maxDepth = 200
	// maxDigits bounds a number. Python refuses integers of more than 4300 digits, and Ansible would then read the file as
	// YAML, in which the marks of texts mean nothing.
	maxDigits = 4000
)

// unsafeJSON writes variables as JSON in which every text, at every depth, is marked as unsafe, except in the variables
// named by templated: Ansible passes such a text on unchanged and never evaluates templates in it. JSON has the same
// meaning in every version of Ansible, the YAML tag !unsafe has not. Numbers keep their digits. A member that Ansible
// would read as a mark is an Invalid fault that names it.
func unsafeJSON(vars map[string]any, templated []string) ([]byte, error) {
	raw, err := json.Marshal(vars)
	if err != nil {
		return nil, fmt.Errorf("encode the extra variables: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var plain map[string]any
	if err := dec.Decode(&plain); err != nil {
		return nil, fmt.Errorf("encode the extra variables: %w", err)
	}
	out := make(map[string]any, len(plain))
	for name, v := range plain {
		if runs.ReservedMember(name) {
			return nil, reserved("extra_vars", name)
		}
		m := marker{at: "extra_vars." + name, unsafe: !slices.Contains(templated, name)}
		if out[name], err = m.value(v, 1); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

func reserved(at, member string) error {
	return fault.BadField(at, "the name %.64q is reserved for Ansible's marks of values", member)
}

// marker marks the texts of one variable.
type marker struct {
	at     string
	unsafe bool
}

func (m marker) value(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fault.BadField(m.at, "is nested deeper than %d levels", maxDepth)
	}
	var err error
	switch v := v.(type) {
	case json.Number:
		if len(v) > maxDigits {
			return nil, fault.BadField(m.at, "holds a number of more than %d characters", maxDigits)
		}
	case string:
		if m.unsafe {
			return map[string]string{unsafeMember: v}, nil
		}
	case []any:
		for i := range v {
			if v[i], err = m.value(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if runs.ReservedMember(name) {
				return nil, reserved(m.at, name)
			}
			if v[name], err = m.value(v[name], depth+1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
