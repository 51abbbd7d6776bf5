// Package fleet makes one inventory of the hosts that a configuration management product knows.
//
// What hosts say about themselves is data, and an inventory is evaluated by Ansible: names, addresses and variables are
// taken only if they are plain words.
package fleet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// Host is a host of a fleet.
type Host struct {
	Name string
	Ref  string // its place in the export
	// Address is where it is reached, empty if that is its name.
	Address string
	// Groups are names of groups. Characters that Ansible does not take are replaced.
	Groups  []string
	Vars    map[string]string
	Windows bool
	// Seen is when the product heard of it last. Of two hosts of one name the newer counts.
	Seen time.Time
}

// Fleet collects hosts. The zero value is ready.
type Fleet struct {
	hosts    map[string]Host
	groups   map[string]string // the names that the export has, by those of the inventory
	warnings []importer.Warning
}

const maxWarnings = 200

var (
	hostName = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)
	word     = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9 ._:/+~-]{0,199}$`)
	variable = lazyregexp.New(`^[a-z][a-z0-9_]*$`)
	noGroup  = lazyregexp.New(`[^A-Za-z0-9_]+`)
)

// Len returns the number of hosts.
func (f *Fleet) Len() int { return len(f.hosts) }

// Add adds a host. A name that cannot be one of a host is an object of the draft without a Spec.
func (f *Fleet) Add(b *draft.Builder, h Host) {
	if !hostName.MatchString(h.Name) {
		b.Skip("node", h.Name, h.Ref, "The name is not one of a host.")
		return
	}
	if f.hosts == nil {
		f.hosts = make(map[string]Host)
	}
	if old, ok := f.hosts[h.Name]; ok {
		if h.Seen.Before(old.Seen) {
			h, old = old, h
		}
		b.Skip("node", old.Name, old.Ref, "%s has newer data of this host.", h.Ref)
	}
	f.hosts[h.Name] = h
}

// checked returns a host of plain words.
func (f *Fleet) checked(h Host) Host {
	if _, err := netip.ParseAddr(h.Address); err != nil && h.Address != "" && !hostName.MatchString(h.Address) {
		f.warn(h, "address", "The address is not imported, since it is neither an IP address nor the name of a host.")
		h.Address = ""
	}
	if h.Address == h.Name {
		h.Address = ""
	}
	vars := make(map[string]string, len(h.Vars))
	for name, value := range h.Vars {
		switch {
		case value == "":
		case variable.MatchString(name) && word.MatchString(value):
			vars[name] = value
		default:
			f.warn(h, name, "The value is not imported, since it is not a plain word.")
		}
	}
	groups := make([]string, 0, len(h.Groups))
	for _, g := range h.Groups {
		if name := f.group(h, g); name != "" && !slices.Contains(groups, name) {
			groups = append(groups, name)
		}
	}
	h.Vars, h.Groups = vars, groups
	return h
}

// group returns the name of a group in the inventory.
func (f *Fleet) group(h Host, name string) string {
	safe := strings.Trim(noGroup.Get().ReplaceAllString(name, "_"), "_")
	if safe == "" || len(safe) > 200 || safe == "all" || safe == "ungrouped" {
		f.warn(h, name, "The group is not imported, since its name is not one of a group.")
		return ""
	}
	if safe[0] >= '0' && safe[0] <= '9' {
		safe = "_" + safe
	}
	if other, ok := f.groups[safe]; ok && other != name {
		f.warn(h, name, "The group %s has the hosts of %q and of %q.", safe, other, name)
		return safe
	}
	f.groups[safe] = name
	return safe
}

func (f *Fleet) warn(h Host, field, format string, args ...any) {
	if len(f.warnings) < maxWarnings {
		f.warnings = append(f.warnings, importer.Warning{
			Object: h.Name, Field: field, Message: fmt.Sprintf(format, args...),
		})
	} else if len(f.warnings) == maxWarnings {
		f.warnings = append(f.warnings, importer.Warning{Message: "More warnings about hosts are not listed."})
	}
}

// Inventory adds the hosts to the draft as an inventory with a name. Dropped says what of the export is in no host.
func (f *Fleet) Inventory(b *draft.Builder, name, ref, dropped string) error {
	if len(f.hosts) == 0 {
		return nil
	}
	f.groups = make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(f.hosts)) {
		f.hosts[name] = f.checked(f.hosts[name])
	}
	o := b.Add(importer.Object{
		Kind: importer.Inventory, Name: b.Name(importer.Inventory, name), Ref: ref,
		Spec: &importer.InventorySpec{Content: f.content(), Format: "yaml"}, Warnings: f.warnings,
	})
	draft.Map(o, "The inventory has %s of the fleet.", draft.Count(len(f.hosts), "node"))
	if len(f.groups) > 0 {
		draft.Map(o, "It has %s: %s.", draft.Count(len(f.groups), "group"), listed(slices.Sorted(maps.Keys(f.groups))))
	}
	for _, name := range f.renamed() {
		draft.Map(o, "The group %q is named %s.", f.groups[name], name)
	}
	if dropped != "" {
		draft.Warn(o, "", "%s", dropped)
	}
	return nil
}

// renamed returns the first groups whose names differ from those of the export, sorted.
func (f *Fleet) renamed() []string {
	names := slices.Sorted(maps.Keys(f.groups))
	names = slices.DeleteFunc(names, func(n string) bool { return f.groups[n] == n })
	return names[:min(20, len(names))]
}

// listed returns the first names of a list.
func listed(names []string) string {
	const shown = 20
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
