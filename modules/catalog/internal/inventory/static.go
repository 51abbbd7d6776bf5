package inventory

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// top reads the document, a mapping of groups.
func (t *tree) top(n *yaml.Node) error {
	n, err := t.visit(n, 0)
	if err != nil {
		return err
	}
	if !t.mapping(n) && !t.empty(n) {
		return t.refuse(n, "expected a mapping of groups")
	}
	groups, err := t.pairs(n, 0)
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return t.refuse(n, "expected a mapping of groups, got nothing")
	}
	for _, g := range groups {
		if g.key == "plugin" && !t.empty(g.node) {
			return t.refuse(g.at,
				"expected a mapping of groups, got the configuration of an inventory plugin; make it an inventory source")
		}
	}
	for _, g := range groups {
		if _, err := t.group(g, 1); err != nil {
			return err
		}
	}
	return nil
}

// group reads a group. It ignores a value that is not a mapping.
func (t *tree) group(p pair, depth int) (made bool, err error) {
	n, err := t.visit(p.node, depth)
	if err != nil {
		return false, err
	}
	if !t.mapping(n) && !null(n) {
		return false, nil
	}
	name, ok := p.key.(string)
	if !ok {
		return false, t.refuse(p.at, "expected a text as name of a group; put it between quotation marks")
	}
	if err := t.w.addGroup(name); err != nil {
		return false, t.refuse(p.at, "%v", err)
	}
	if null(n) {
		return true, nil
	}
	parts, err := t.pairs(n, depth+1)
	if err != nil {
		return false, err
	}
	for i := range parts {
		if parts[i].node, err = t.section(name, parts[i], depth+1); err != nil {
			return false, err
		}
	}
	for _, part := range parts {
		if err := t.part(name, part, depth+1); err != nil {
			return false, err
		}
	}
	return true, nil
}

// section validates one part of a group. A text stands for a mapping with that single key. It returns nil for parts
// that Ansible ignores, which are all but the three known ones.
func (t *tree) section(group string, p pair, depth int) (*yaml.Node, error) {
	if p.key != varLines && p.key != childLines && p.key != hostLines {
		return nil, nil
	}
	n, err := t.visit(p.node, depth)
	switch {
	case err != nil:
		return nil, err
	case t.mapping(n):
		return n, nil
	case null(n):
		return nil, nil
	}
	if n.Kind == yaml.ScalarNode {
		if v, fault := scalar(n); fault == "" {
			if _, ok := v.(string); ok {
				nothing := &yaml.Node{Kind: yaml.ScalarNode, Line: n.Line, Column: n.Column}
				key := *n
				key.Style, key.Anchor = yaml.DoubleQuotedStyle, ""
				return &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column, Content: []*yaml.Node{&key, nothing}}, nil
			}
		}
	}
	if n.Kind == yaml.SequenceNode {
		return nil, t.refuse(n,
			"expected a mapping as %s of group %q, got a list, which only the output of a script may have", p.key, short(group))
	}
	return nil, t.refuse(n, "expected a mapping as %s of group %q", p.key, short(group))
}

func (t *tree) part(group string, p pair, depth int) error {
	if p.node == nil {
		return nil
	}
	members, err := t.pairs(p.node, depth)
	if err != nil {
		return err
	}
	for _, m := range members {
		switch p.key {
		case varLines:
			err = t.variable([]string{group}, m, depth)
		case childLines:
			err = t.child(group, m, depth+1)
		default:
			err = t.host(group, m, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// variable sets a variable of hosts or of a group.
func (t *tree) variable(names []string, m pair, depth int) error {
	name, ok := jsonKey(m.key)
	if !ok {
		return t.refuse(m.at, "expected a number or a text as name of a variable, got a date")
	}
	var v any
	if !t.w.counting {
		var err error
		if v, err = t.value(m.node, depth+1); err != nil {
			return err
		}
	}
	if err := t.w.set(names, name, v); err != nil {
		return t.refuse(m.at, "%v", err)
	}
	return nil
}

// child reads a child group. A child that is not a mapping must be a known group or host.
func (t *tree) child(group string, m pair, depth int) error {
	made, err := t.group(m, depth)
	if err != nil {
		return err
	}
	name, _ := m.key.(string)
	if _, ok := t.w.groups[name]; ok || made {
		err = t.w.addChild(group, name, m.at.Line, m.at.Column)
	} else if _, ok := t.w.hosts[name]; ok {
		err = t.w.addHosts([]string{name}, group, nil)
	} else {
		err = fmt.Errorf("expected the children of group %q to be mappings, or groups that are known already", short(group))
	}
	if err != nil {
		return t.refuse(m.at, "%v", err)
	}
	return nil
}

// host reads the hosts of one key and their variables.
func (t *tree) host(group string, m pair, depth int) error {
	pattern, ok := m.key.(string)
	if !ok {
		return t.refuse(m.at, "expected a text as name of a host; put it between quotation marks")
	}
	names, port, err := expand(pattern)
	if err != nil {
		return t.refuse(m.at, "%v", err)
	}
	if err := t.w.addHosts(names, group, port); err != nil {
		return t.refuse(m.at, "%v", err)
	}
	n, err := t.visit(m.node, depth)
	if err != nil {
		return err
	}
	if !t.mapping(n) {
		if t.empty(n) {
			return nil
		}
		return t.refuse(n, "expected a mapping of variables behind host %q", short(pattern))
	}
	vars, err := t.pairs(n, depth)
	if err != nil {
		return err
	}
	for _, v := range vars {
		if err := t.variable(names, v, depth); err != nil {
			return err
		}
	}
	return nil
}
