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
// in order. Names in allowed stay. Values that are not JSON stay too.
func (v Vars) StripReserved(allowed ...string) (kept Vars, removed []string) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		path := reserved.Shown(name)
		if reserved.Variable(name) && !slices.Contains(allowed, name) {
			removed = append(removed, path)
			continue
		}
		if kept == nil {
			kept = make(Vars, len(v))
		}
		kept[name] = v[name]
		if t := bytes.TrimSpace(v[name]); len(t) == 0 || t[0] != '{' && t[0] != '[' {
			continue
		}
		var value any
		dec := json.NewDecoder(bytes.NewReader(v[name]))
		dec.UseNumber()
		if dec.Decode(&value) != nil {
			continue
		}
		if value, inner := reserved.Strip(path, value, allowed...); len(inner) > 0 {
			removed = append(removed, inner...)
			kept[name] = marshal(value)
		}
	}
	return kept, removed
}

// ReservedVar returns the fault VarsReserved that names a field.
func ReservedVar(location string) error {
	const message = "names a reserved variable, which steers the tool; list the name in the template's allowed_vars to allow it"
	f := VarsReserved.New("%s: %s", location, message)
	f.Fields = []fault.Field{{Location: location, Message: message}}
	return f
}

// ReservedDropped returns the warning that names the removed paths. what says where they were.
func ReservedDropped(what string, removed []string) Warning {
	return Warning{Code: WarnVarsReserved,
		Message: "reserved names in " + what + " were dropped: " + reserved.Paths(removed)}
}
