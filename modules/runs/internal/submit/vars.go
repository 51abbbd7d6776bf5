package submit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// maxDepth bounds the nesting of variables, since every reader walks them.
const maxDepth = 64

// maxVars bounds the variables of a run, in bytes of JSON.
const maxVars = 4 << 20

// vars checks an object of variables.
func (c checks) vars(path string, v runs.Vars) {
	size := 0
	for _, k := range slices.Sorted(maps.Keys(v)) {
		at := path + "." + k
		if k == "" || len(k) > maxLabel || strings.IndexByte(k, 0) >= 0 {
			c.bad(path, "a name must have from 1 to %d bytes and no NUL character", maxLabel)
			continue
		}
		size += len(k) + len(v[k])
		c.value(at, v[k])
	}
	if size > maxVars {
		c.bad(path, "is longer than %d bytes", maxVars)
	}
}

func (c checks) value(at string, raw json.RawMessage) {
	if !json.Valid(raw) {
		c.bad(at, "is not JSON")
		return
	}
	deep, nul := 0, false
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			break
		}
		switch x := t.(type) {
		case json.Delim:
			if x == '{' || x == '[' {
				depth++
				deep = max(deep, depth)
			} else {
				depth--
			}
		case string:
			nul = nul || strings.IndexByte(x, 0) >= 0
		}
	}
	if deep > maxDepth {
		c.bad(at, "is nested deeper than %d", maxDepth)
	}
	if nul {
		c.bad(at, "holds a NUL character")
	}
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
