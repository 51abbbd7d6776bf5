package runs

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/reserved"
)

// StripReserved returns the variables without reserved names, at any depth, and the paths of those that were removed,
// in order. Names in allowed stay. Lists and objects that are not JSON are removed.
func (v Vars) StripReserved(allowed ...string) (kept Vars, removed []string) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		path := reserved.Shown(name)
		if reserved.Variable(name) && !slices.Contains(allowed, name) {
			removed = append(removed, path)
			continue
		}
		raw, inner := stripValue(path, v[name], allowed)
		removed = append(removed, inner...)
		if raw == nil {
			continue
		}
		if kept == nil {
			kept = make(Vars, len(v))
		}
		kept[name] = raw
	}
	return kept, removed
}

// stripValue returns a value as it is unless a member of it is reserved.
func stripValue(path string, raw json.RawMessage, allowed []string) (kept json.RawMessage, removed []string) {
	if t := bytes.TrimSpace(raw); len(t) == 0 || t[0] != '{' && t[0] != '[' {
		return raw, nil
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return nil, []string{path}
	}
	value, removed = reserved.Strip(path, value, allowed...)
	if len(removed) == 0 {
		return raw, nil
	}
	return marshal(value), removed
}

// ReservedVar returns the fault VarsReserved that names a field.
func ReservedVar(location string) error {
	const message = "names a reserved variable, which steers the tool; list the name in the template's allowed_vars " +
		"to allow it"
	f := VarsReserved.New("%s: %s", location, message)
	f.Fields = []fault.Field{{Location: location, Message: message}}
	return f
}

// ReservedDropped returns the warning that names were dropped. what says where they were.
func ReservedDropped(what, names string) Warning {
	return Warning{Code: WarnVarsReserved, Message: "reserved names in " + what + " were dropped: " + names}
}
