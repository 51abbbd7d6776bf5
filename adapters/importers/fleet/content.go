package fleet

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// content returns the inventory in YAML. Equal fleets have equal contents. It is written without a tree of its values,
// which takes fifty times the memory of the text.
func (f *Fleet) content() string {
	names := slices.Sorted(maps.Keys(f.hosts))
	members := make(map[string][]string, len(f.groups))
	for _, name := range names {
		for _, g := range f.hosts[name].Groups {
			members[g] = append(members[g], name)
		}
	}
	var b strings.Builder
	b.WriteString("all:\n    children:")
	if len(members) == 0 {
		b.WriteString(" {}")
	}
	for _, g := range slices.Sorted(maps.Keys(members)) {
		b.WriteString("\n        " + scalar(g) + ":\n            hosts:")
		for _, name := range members[g] {
			b.WriteString("\n                " + scalar(name) + ": {}")
		}
	}
	b.WriteString("\n    hosts:\n")
	for _, name := range names {
		b.WriteString("        " + scalar(name) + ":")
		vars := f.hosts[name].all()
		if len(vars) == 0 {
			b.WriteString(" {}")
		}
		for _, v := range slices.Sorted(maps.Keys(vars)) {
			b.WriteString("\n            " + scalar(v) + ": " + scalar(vars[v]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// all returns the variables of a host with those that say how it is reached.
func (h Host) all() map[string]string {
	vars := maps.Clone(h.Vars)
	if h.Address != "" {
		vars["ansible_host"] = h.Address
	}
	if h.Windows {
		vars["ansible_connection"] = "winrm"
	}
	return vars
}

var (
	plainText    = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_./~-]*( [A-Za-z0-9_./~-]+)*$`)
	plainAddress = lazyregexp.New(`^[0-9]+(\.[0-9]+){3}$`)
	// noText matches what YAML reads as a bool or as null.
	noText = lazyregexp.New(`(?i)^(y|yes|n|no|on|off|true|false|null)$`)
)

// scalar returns a text as YAML, in quotes if it would be read as something else.
func scalar(s string) string {
	if plainAddress.MatchString(s) || plainText.MatchString(s) && !noText.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
