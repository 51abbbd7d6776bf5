package submit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// maxDepth bounds the nesting of variables, since every reader walks them.
const (
	maxDepth = 64
	tooDeep  = "is nested deeper than 64"
)

// maxVars bounds the variables of a run, in bytes of JSON.
const maxVars = 4 << 20

// maxDigits bounds a number in variables: Python reads integers of up to 4300 digits.
const maxDigits = 4000

// vars checks an object of variables.
func (c checks) vars(path string, v runs.Vars) {
	size := 0
	for _, k := range slices.Sorted(maps.Keys(v)) {
		at := path + "." + k
		if k == "" || len(k) > maxLabel || strings.IndexByte(k, 0) >= 0 {
			c.bad(path, "a name must have from 1 to %d bytes and no NUL character", maxLabel)
			continue
		}
		if runs.ReservedMember(k) {
			c.bad(at, "%s", reserved(k))
		}
		size += len(k) + len(v[k])
		c.value(at, v[k])
	}
	if size > maxVars {
		c.bad(path, "is longer than %d bytes", maxVars)
	}
}

func (c checks) value(at string, raw json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if !json.Valid(raw) || d.Decode(&v) != nil {
		c.bad(at, "is not JSON")
		return
	}
	if wrong := inside(v, 0); wrong != "" {
		c.bad(at, "%s", wrong)
	}
}

// inside returns what is wrong with a value or with one inside of it, empty for nothing.
func inside(v any, depth int) string {
	switch v := v.(type) {
	case string:
		if strings.IndexByte(v, 0) >= 0 {
			return "holds a NUL character"
		}
	case json.Number:
		if len(v) > maxDigits {
			return fmt.Sprintf("holds a number of more than %d characters", maxDigits)
		}
	case []any:
		if depth == maxDepth {
			return tooDeep
		}
		for _, x := range v {
			if wrong := inside(x, depth+1); wrong != "" {
				return wrong
			}
		}
	case map[string]any:
		if depth == maxDepth {
			return tooDeep
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if runs.ReservedMember(name) {
				return reserved(name)
			}
			if wrong := cmp.Or(inside(name, depth), inside(v[name], depth+1)); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

func reserved(name string) string {
	return fmt.Sprintf("the name %.64q is reserved for Ansible's marks of values", name)
}

// labels checks labels and the change that a run belongs to.
func (c checks) labels(labels map[string]string, change string) {
	if c.count("labels", len(labels)) {
		for _, k := range slices.Sorted(maps.Keys(labels)) {
			if !labelKey.MatchString(k) {
				c.bad("labels", "%q is not the key of a label", k)
				continue
			}
			c.runes("labels."+k, labels[k], maxLabel)
		}
	}
	c.runes("change", change, maxLabel)
}
