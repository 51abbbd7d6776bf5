package awx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
)

// maxPath bounds a path, and maxListed the names in one sentence.
const (
	maxPath   = 4096
	maxListed = 5
)

// shown returns a name as sentences have it.
func shown(name string) string { return reserved.Shown(name) }

// listed returns the first names of a list for a sentence.
func listed(names []string) string {
	out := make([]string, 0, maxListed)
	for _, name := range names[:min(len(names), maxListed)] {
		out = append(out, shown(name))
	}
	if n := len(names) - len(out); n > 0 {
		return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(out, ", ")
}

// group is a group of an inventory in the form of its content.
type group struct {
	Vars     map[string]any    `json:"vars,omitempty"`
	Hosts    map[string]any    `json:"hosts,omitempty"`
	Children map[string]*group `json:"children,omitempty"`
}

func (x *reader) inventory(e *entry, r *record) {
	if kind := r.line("kind"); kind != "" {
		x.Skip("inventory", e.name, e.ref, "The inventory is %s: a query for hosts of others, which a template has here.",
			shown(kind))
		return
	}
	o := x.put(e, importer.Inventory)
	r.described(o)
	related := r.child("related")
	all := &group{Vars: x.variables(o, "variables", r.take("variables")), Hosts: map[string]any{},
		Children: map[string]*group{}}
	member := x.hosts(o, all, related.take("hosts"))
	if member == nil {
		lose(o, "The inventory is larger than %d MiB.", catalog.MaxInventory>>20)
		return
	}
	x.groups(o, all, related.take("groups"), member)
	spec := importer.InventorySpec{}
	if len(all.Hosts)+len(all.Children)+len(all.Vars) > 0 {
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(map[string]*group{"all": all}); err != nil || text.Len() > catalog.MaxInventory {
			lose(o, "The inventory is larger than %d MiB.", catalog.MaxInventory>>20)
			return
		}
		spec.Content, spec.Format = text.String(), string(catalog.JSON)
		draft.Map(o, "%s and %s became the content, in JSON.", draft.Count(len(all.Hosts), "host"),
			draft.Count(len(all.Children), "group"))
	} else {
		draft.Map(o, "The export has no hosts of this inventory.")
	}
	for _, l := range related.list("labels") {
		draft.Warn(o, "related.labels", "The label %s is not kept: inventories have none.", shown(named(l)))
	}
	if len(related.list("instance_groups")) > 0 {
		draft.Need(o, "related.instance_groups", "Instance groups are not kept; choose a queue.")
	}
	related.skip("inventory_sources")
	r.skip("prevent_instance_group_fallback")
	o.Spec = &spec
	r.rest(o, "")
	related.rest(o, "related.")
}

// filled reports whether an inventory has content.
func (e *entry) filled() bool {
	spec, ok := e.object.Spec.(*importer.InventorySpec)
	return ok && spec.Content != ""
}

// hosts adds the hosts to the content and returns, by group, those that name the group themselves. It returns nil if
// they are too many for an inventory.
func (x *reader) hosts(o *importer.Object, all *group, list any) map[string][]string {
	member := map[string][]string{}
	size := 0
	var off, bad, odd []string
	for i, v := range items(list) {
		h := newRecord("", v)
		name := h.text("name")
		if !validHost(name) {
			bad = append(bad, name)
			continue
		}
		if on, set := h.values["enabled"]; set && !truth(on) {
			off = append(off, name)
			continue
		}
		const twice = 2 // a content has no less than half of these bytes
		if size += len(name) + len(h.text("variables")); size > twice*catalog.MaxInventory {
			return nil
		}
		if _, ok := all.Hosts[name]; ok {
			continue
		}
		vars := x.variables(o, fmt.Sprintf("related.hosts[%d].variables", i), h.take("variables"))
		all.Hosts[name] = vars
		if vars == nil {
			all.Hosts[name] = struct{}{}
		}
		for _, g := range h.child("related").list("groups") {
			member[named(g)] = append(member[named(g)], name)
		}
		if h.skip("enabled", "inventory"); len(h.unread()) > 0 {
			odd = append(odd, name)
		}
	}
	for _, w := range []struct {
		names   []string
		message string
	}{
		{off, "Disabled hosts are left out: "}, {bad, "Hosts with names that the server does not take are left out: "},
		{odd, "Descriptions, ids of instances and other settings are not kept, of the hosts "},
	} {
		if len(w.names) > 0 {
			draft.Warn(o, "related.hosts", "%s%s.", w.message, listed(w.names))
		}
	}
	return member
}

func validHost(name string) bool {
	return name != "" && name[0] != '-' && object.Line(name, maxVariable) && strings.TrimSpace(name) == name
}

// groups adds the groups with their hosts, of which member has more, and their children.
func (x *reader) groups(o *importer.Object, all *group, list any, member map[string][]string) {
	var bad, odd []string
	children := map[string][]string{}
	for i, v := range items(list) {
		g := newRecord("", v)
		name := strings.TrimSpace(g.text("name"))
		if !validHost(name) || name == "all" || name == "ungrouped" {
			bad = append(bad, name)
			continue
		}
		made := all.Children[name]
		if made == nil {
			made = &group{Hosts: map[string]any{}, Children: map[string]*group{}}
			all.Children[name] = made
			made.Vars = x.variables(o, fmt.Sprintf("related.groups[%d].variables", i), g.take("variables"))
		}
		related := g.child("related")
		for _, h := range related.list("hosts") {
			member[name] = append(member[name], named(h))
		}
		for _, c := range related.list("children") {
			children[name] = append(children[name], named(c))
		}
		if g.skip("inventory"); len(g.unread()) > 0 {
			odd = append(odd, name)
		}
	}
	for name, hosts := range member {
		g := all.Children[name]
		for _, h := range hosts {
			if _, ok := all.Hosts[h]; ok && g != nil {
				g.Hosts[h] = struct{}{}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(children)) {
		for _, c := range children[name] {
			if all.Children[c] == nil {
				bad = append(bad, c)
			} else {
				all.Children[name].Children[c] = &group{}
			}
		}
	}
	if cut := acyclic(all.Children); len(cut) > 0 {
		draft.Need(o, "related.groups", "Groups that contain each other are not nested: %s.", listed(cut))
	}
	if len(odd) > 0 {
		draft.Warn(o, "related.groups", "Descriptions and other settings of groups are not kept: %s.", listed(odd))
	}
	if len(bad) > 0 {
		draft.Warn(o, "related.groups", "Groups that the server does not take, or that are missing, are left out: %s.",
			listed(bad))
	}
}

// acyclic removes the relations that close a cycle, and returns the groups that lost a child.
func acyclic(groups map[string]*group) (cut []string) {
	waiting := make(map[string]int, len(groups)) // parents of each group
	for _, g := range groups {
		for c := range g.Children {
			waiting[c]++
		}
	}
	queue := slices.DeleteFunc(slices.Sorted(maps.Keys(groups)), func(name string) bool { return waiting[name] > 0 })
	done := map[string]bool{}
	for len(queue) > 0 {
		name := queue[0]
		queue, done[name] = queue[1:], true
		for c := range groups[name].Children {
			if waiting[c]--; waiting[c] == 0 {
				queue = append(queue, c)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		for c := range groups[name].Children {
			if !done[name] && !done[c] {
				delete(groups[name].Children, c)
				cut = append(cut, name)
			}
		}
	}
	return slices.Compact(cut)
}
