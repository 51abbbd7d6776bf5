package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// Limits of a listing.
const (
	maxGroups = 200_000
	nothing   = "{}"
)

var errListing = errors.New("it is not a list of an inventory")

// group is one group of a listing. Values stay raw bytes, which keeps all digits and Ansible's markers.
type group struct {
	name     string
	hosts    []string
	children []string
	vars     json.RawMessage
}

// listing is the output of a dynamic inventory, in its order.
type listing struct {
	groups   []*group
	byName   map[string]*group
	hostvars map[string]json.RawMessage
}

// isListing distinguishes the output of a dynamic inventory from an inventory in the form of Ansible's YAML plugin,
// where hosts and children are objects and never lists.
func isListing(body []byte) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) != nil {
		return false
	}
	if _, ok := top["_meta"]; ok {
		return true
	}
	list := func(raw json.RawMessage) bool {
		raw = bytes.TrimLeft(raw, " \t\r\n")
		return len(raw) > 0 && raw[0] == '['
	}
	for _, raw := range top {
		var members map[string]json.RawMessage
		if list(raw) {
			return true
		}
		if json.Unmarshal(raw, &members) == nil && (list(members["hosts"]) || list(members["children"])) {
			return true
		}
	}
	return false
}

// convert converts a listing to the form of Ansible's YAML plugin, as JSON. Each group has its body at the top level of
// the document, and its parents refer to it by name. The variables of a host are at its first occurrence, which keeps
// the order of hosts.
func convert(body []byte) ([]byte, error) {
	l, err := readListing(body)
	if err != nil {
		return nil, refuse("the inventory cannot be read: %s", clean(err.Error(), nil)).Because(err)
	}
	w := &writer{l: l, written: make(map[string]bool)}
	w.out.Grow(len(body) + len(body)/2)
	w.out.WriteByte('{')
	for i, g := range l.inOrder() {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.group(g)
	}
	w.out.WriteByte('}')
	if w.err != nil {
		return nil, refuse("the inventory cannot be read: %s", clean(w.err.Error(), nil)).Because(w.err)
	}
	return w.out.Bytes(), nil
}

// readListing reads the groups in their order; as in Python, the last of two groups with one name wins.
func readListing(body []byte) (*listing, error) {
	l := &listing{byName: make(map[string]*group)}
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errListing
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // keys are always strings
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		if name == "_meta" {
			if err := l.meta(raw); err != nil {
				return nil, err
			}
			continue
		}
		g, err := readGroup(name, raw)
		if err != nil {
			return nil, err
		}
		if old := l.byName[name]; old != nil {
			*old = *g
			continue
		}
		if l.groups = append(l.groups, g); len(l.groups) > maxGroups {
			return nil, errors.New("it has too many groups")
		}
		l.byName[name] = g
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errListing
	}
	return l, nil
}

func (l *listing) meta(raw json.RawMessage) error {
	var m struct {
		Hostvars map[string]json.RawMessage `json:"hostvars"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return errors.New("the member _meta is none")
	}
	l.hostvars = m.Hostvars
	return nil
}

// readGroup accepts the forms of a group: a list of hosts, an object with hosts, children and vars, or the variables of
// a host with the group's name.
func readGroup(name string, raw json.RawMessage) (*group, error) {
	g := &group{name: name}
	broken := func() (*group, error) {
		return nil, errors.New("the group " + name + " has another form than a group has")
	}
	if raw[0] == '[' {
		if json.Unmarshal(raw, &g.hosts) != nil {
			return broken()
		}
		return g, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return broken()
	}
	known := false
	for member, into := range map[string]any{"hosts": &g.hosts, "children": &g.children, "vars": &g.vars} {
		part, ok := members[member]
		if !ok {
			continue
		}
		known = true
		if json.Unmarshal(part, into) != nil {
			return broken()
		}
	}
	switch {
	case !known && len(members) > 0:
		g.hosts, g.vars = []string{name}, raw
	case len(g.vars) > 0 && g.vars[0] != '{' && string(g.vars) != "null":
		return broken()
	}
	return g, nil
}

// inOrder lists all first, and each group after its first parent, children in their order.
func (l *listing) inOrder() []*group {
	var out []*group
	seen := make(map[*group]bool, len(l.groups))
	walk := func(from *group) {
		for stack := []*group{from}; len(stack) > 0; {
			g := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[g] {
				continue
			}
			seen[g] = true
			out = append(out, g)
			for _, child := range slices.Backward(g.children) {
				if c := l.byName[child]; c != nil && !seen[c] {
					stack = append(stack, c)
				}
			}
		}
	}
	if all := l.byName["all"]; all != nil {
		walk(all)
	} else {
		walk(&group{name: "all"})
	}
	for _, g := range l.groups {
		walk(g)
	}
	return out
}

// writer writes the document.
type writer struct {
	l       *listing
	out     bytes.Buffer
	written map[string]bool // hosts whose variables are already written
	err     error
}

func (w *writer) group(g *group) {
	w.key(g.name)
	w.out.WriteByte('{')
	sep := func(member string) {
		if w.out.Bytes()[w.out.Len()-1] != '{' {
			w.out.WriteByte(',')
		}
		w.key(member)
	}
	if len(g.hosts) > 0 {
		sep("hosts")
		w.names(g.hosts, w.hostVars)
	}
	if len(g.children) > 0 {
		sep("children")
		w.names(g.children, func(string) json.RawMessage { return nil })
	}
	if len(g.vars) > 0 && string(g.vars) != "null" {
		sep("vars")
		w.compact(g.vars)
	}
	w.out.WriteByte('}')
}

// hostVars returns the variables of a host at its first occurrence.
func (w *writer) hostVars(host string) json.RawMessage {
	if w.written[host] {
		return nil
	}
	w.written[host] = true
	return w.l.hostvars[host]
}

// names writes an object with these members, each once.
func (w *writer) names(names []string, value func(string) json.RawMessage) {
	w.out.WriteByte('{')
	written := make(map[string]bool, len(names))
	for _, name := range names {
		if written[name] {
			continue
		}
		if len(written) > 0 {
			w.out.WriteByte(',')
		}
		written[name] = true
		w.key(name)
		if vars := value(name); len(vars) > 0 && string(vars) != "null" {
			w.compact(vars)
		} else {
			w.out.WriteString(nothing)
		}
	}
	w.out.WriteByte('}')
}

func (w *writer) compact(raw json.RawMessage) { w.err = errors.Join(w.err, json.Compact(&w.out, raw)) }

func (w *writer) key(name string) {
	b, err := json.Marshal(name)
	w.err = errors.Join(w.err, err)
	w.out.Write(b)
	w.out.WriteByte(':')
}
