package inventory

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
)

// builder collects the hosts and groups of an inventory.
type builder struct {
	counting bool   // variables are not kept
	json     []byte // the content, if it is JSON
	order    []string
	hosts    map[string]*host
	groups   map[string]*group
	names    []string // of the groups, in the order of their first appearance
	edges    []edge
	mentions int
	bytes    int
}

type host struct {
	vars    map[string]any
	grouped bool // in a group other than all and ungrouped
	loose   bool // in ungrouped
}

type group struct {
	hosts    []string
	member   map[string]struct{}
	children []string
	child    map[string]struct{}
	vars     map[string]any
}

// edge is the relation of a parent and a child group, with its place in the content.
type edge struct {
	parent, child string
	line, column  int // for JSON, column is an offset in bytes
}

func newBuilder(counting bool) *builder {
	w := &builder{counting: counting, hosts: map[string]*host{}, groups: map[string]*group{}}
	g := w.group(all)
	w.group(ungrouped)
	// The group ungrouped is always below all.
	g.children, g.child[ungrouped] = []string{ungrouped}, struct{}{}
	return w
}

func (w *builder) group(name string) *group {
	g, ok := w.groups[name]
	if !ok {
		g = &group{member: map[string]struct{}{}, child: map[string]struct{}{}}
		w.groups[name] = g
		w.names = append(w.names, name)
	}
	return g
}

// addGroup adds a group if it does not exist. Like the following methods, it returns errors without a place.
func (w *builder) addGroup(name string) error {
	if name == "" {
		return fmt.Errorf("expected the name of a group, got an empty one")
	}
	if w.group(name); len(w.groups) > maxGroups {
		return fmt.Errorf("more than %d groups", maxGroups)
	}
	return nil
}

// addHosts adds hosts to a group. As in Ansible, the port only applies to new hosts.
func (w *builder) addHosts(names []string, in string, port any) error {
	g := w.group(in)
	if w.mentions += len(names); w.mentions > maxMentions {
		return fmt.Errorf("more than %d hosts and variables of hosts in groups", maxMentions)
	}
	for _, name := range names {
		if err := checkHost(name); err != nil {
			return err
		}
		h, ok := w.hosts[name]
		if !ok {
			h = &host{}
			w.hosts[name] = h
			w.order = append(w.order, name)
			if w.bytes += len(name); len(w.order) > maxHosts || w.bytes > maxNames {
				return fmt.Errorf("more than %d hosts or %d bytes of their names", maxHosts, maxNames)
			}
			if port != nil && !w.counting {
				h.vars = map[string]any{"ansible_port": port}
			}
		}
		w.join(g, in, name, h)
	}
	return nil
}

// checkHost refuses names that a program would read as an option, or as more than one line.
func checkHost(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("expected the name of a host, got an empty one")
	case name[0] == '-':
		return fmt.Errorf("expected the name of a host, got %q, which starts with -", short(name))
	case strings.ContainsAny(name, "\x00\r\n"), strings.ContainsFunc(name, oddBreak):
		return fmt.Errorf("expected the name of a host on one line, got %q", short(name))
	default:
		return nil
	}
}

func (w *builder) join(g *group, in, name string, h *host) {
	switch in {
	case all:
	case ungrouped:
		h.loose = true
	default:
		h.grouped = true
	}
	if _, ok := g.member[name]; !ok {
		g.member[name] = struct{}{}
		g.hosts = append(g.hosts, name)
	}
}

// addChild makes a group the child of another. finish detects loops.
func (w *builder) addChild(parent, child string, line, column int) error {
	if parent == child {
		return fmt.Errorf("group %q cannot be a child of itself", short(child))
	}
	g := w.group(parent)
	if _, ok := g.child[child]; ok {
		return nil
	}
	g.child[child] = struct{}{}
	g.children = append(g.children, child)
	w.edges = append(w.edges, edge{parent, child, line, column})
	return nil
}

// set sets a variable of the hosts. As in Ansible, the name of a group refers to the group.
func (w *builder) set(names []string, key string, value any) error {
	if w.mentions += len(names); w.mentions > maxMentions {
		return fmt.Errorf("more than %d hosts and variables of hosts in groups", maxMentions)
	}
	for _, name := range names {
		if _, ok := w.groups[name]; ok {
			if err := w.setGroup(name, key, value); err != nil {
				return err
			}
			continue
		}
		if w.counting {
			continue
		}
		h := w.hosts[name]
		if h.vars == nil {
			h.vars = map[string]any{}
		}
		h.vars[key] = value
	}
	return nil
}

func (w *builder) setGroup(name, key string, value any) error {
	if w.counting {
		return nil
	}
	if key == "ansible_group_priority" && !whole(value) {
		return fmt.Errorf("expected a whole number as ansible_group_priority of group %q", short(name))
	}
	g := w.groups[name]
	if g.vars == nil {
		g.vars = map[string]any{}
	}
	g.vars[key] = value
	return nil
}

// whole reports whether Ansible can convert the value to an integer.
func whole(value any) bool {
	switch v := value.(type) {
	case bool, int64, json.Number:
		return true
	case float64:
		return !math.IsInf(v, 0) && !math.IsNaN(v)
	case string:
		_, ok := integer(v)
		return ok
	default:
		return false
	}
}

// integer parses a decimal number in Python's syntax: surrounding blanks, a sign, and single underscores between
// digits.
func integer(s string) (int64, bool) {
	s = strings.TrimFunc(s, blank)
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" || digits[0] == '_' || digits[len(digits)-1] == '_' ||
		strings.Contains(digits, "__") {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimPrefix(s, "+"), "_", ""), 10, 64)
	return n, err == nil
}

// finish does the final steps of Ansible: each group gets a parent and each host a group, and loops are refused.
func (w *builder) finish() error {
	parented := make(map[string]struct{}, len(w.edges))
	for _, e := range w.edges {
		parented[e.child] = struct{}{}
	}
	// If ungrouped is below another group, its hosts count as grouped; Ansible removes them from ungrouped and leaves
	// them without a group.
	buried := slices.ContainsFunc(w.edges, func(e edge) bool { return e.child == ungrouped && e.parent != all })
	loose := w.groups[ungrouped]
	loose.hosts = slices.DeleteFunc(loose.hosts, func(name string) bool { return buried || w.hosts[name].grouped })
	for _, name := range w.order {
		if h := w.hosts[name]; h.grouped || h.loose {
			continue
		}
		if _, ok := w.groups[name]; ok {
			if err := w.addChild(ungrouped, name, 0, 0); err != nil {
				return refuse(0, 0, "%v", err)
			}
			continue
		}
		w.join(w.groups[ungrouped], ungrouped, name, w.hosts[name])
	}
	if err := w.loops(); err != nil {
		return err
	}
	for _, name := range w.names {
		if _, ok := parented[name]; ok || name == all {
			continue
		}
		if err := w.addChild(all, name, 0, 0); err != nil {
			return refuse(0, 0, "%v", err)
		}
	}
	return nil
}

// loops refuses the first edge that closes a loop. All is the ancestor of every group, so it cannot be a child.
func (w *builder) loops() error {
	for _, e := range w.edges {
		if e.child == all {
			return w.refuse(e, "group %q cannot have the child %q, which contains every group", short(e.parent), all)
		}
	}
	if !looped(w.edges) {
		return nil
	}
	low, high := 0, len(w.edges)-1
	for low < high {
		if mid := (low + high) / 2; looped(w.edges[:mid+1]) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	e := w.edges[low]
	return w.refuse(e, "group %q cannot be a child of %q, which descends from it", short(e.child), short(e.parent))
}

// refuse returns the fault with the place of an edge.
func (w *builder) refuse(e edge, format string, args ...any) error {
	if w.json != nil {
		return refuseAt(w.json, e.column-1, format, args...)
	}
	return refuse(e.line, e.column, format, args...)
}

// looped reports whether the edges contain a loop. It removes groups without parents until none remains.
func looped(edges []edge) bool {
	parents, children := map[string]int{}, map[string][]string{}
	for _, e := range edges {
		parents[e.child]++
		parents[e.parent] += 0
		children[e.parent] = append(children[e.parent], e.child)
	}
	var free []string
	for name, n := range parents {
		if n == 0 {
			free = append(free, name)
		}
	}
	taken := 0
	for ; len(free) > 0; taken++ {
		name := free[len(free)-1]
		free = free[:len(free)-1]
		for _, c := range children[name] {
			if parents[c]--; parents[c] == 0 {
				free = append(free, c)
			}
		}
	}
	return taken < len(parents)
}

func (w *builder) content() *catalog.InventoryContent {
	c := &catalog.InventoryContent{Hosts: w.order, Vars: map[string]map[string]any{},
		Groups: make(map[string]*catalog.InventoryGroup, len(w.groups))}
	for name, h := range w.hosts {
		if h.vars != nil {
			c.Vars[name] = h.vars
		}
	}
	for name, g := range w.groups {
		c.Groups[name] = &catalog.InventoryGroup{Hosts: g.hosts, Children: g.children, Vars: g.vars}
	}
	return c
}
