// Package untrusted turns inventories of sources that nobody trusts into data. Boundary: it decides what such a source
// may say, and knows neither sources nor rights.
package untrusted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/reserved"
)

// Inventory returns an inventory as data, in JSON: every text is marked as never a template, and reserved names are
// dropped at every depth, except the variables of a connection that checked accepts. dropped lists the names in order.
// Content without variables stays as it is. The faults are those of inventory.Parse, and one for a host or a group
// whose name could be read as a template: Ansible uses both in variables of its own.
func Inventory(content []byte, format catalog.Format) (out []byte, f catalog.Format, dropped []string, err error) {
	c, err := inventory.Parse(content, format)
	if err != nil {
		return nil, "", nil, err
	}
	for _, name := range slices.Concat(c.Hosts, slices.Sorted(maps.Keys(c.Groups))) {
		if reserved.Templated(name) {
			return nil, "", nil, fault.BadField("content", "the name %s could be read as a template", reserved.Shown(name))
		}
	}
	d := &data{dropped: map[string]bool{}}
	plain := len(c.Vars) == 0
	for _, g := range c.Groups {
		plain = plain && len(g.Vars) == 0
	}
	if plain {
		return content, format, nil, nil
	}
	d.inventory(c)
	return d.out.Bytes(), catalog.JSON, slices.Sorted(maps.Keys(d.dropped)), d.err
}

// all is the group of every host.
const all = "all"

// The members that mark encrypted values and texts that are never templates in Ansible's JSON.
const (
	vaultKey  = "__ansible_vault"
	unsafeKey = "__ansible_unsafe"
)

// data writes an inventory in the form of Ansible's YAML plugin, as JSON. Hosts have their variables in the group all,
// which keeps their order.
type data struct {
	out     bytes.Buffer
	dropped map[string]bool
	err     error
}

func (d *data) inventory(c *catalog.InventoryContent) {
	everything := *c.Groups[all]
	everything.Hosts, everything.Children = c.Hosts, nil
	d.out.WriteByte('{')
	d.group(all, &everything, c.Vars)
	for _, name := range c.Ordered()[1:] {
		d.out.WriteByte(',')
		d.group(name, c.Groups[name], nil)
	}
	d.out.WriteByte('}')
}

func (d *data) group(name string, g *catalog.InventoryGroup, vars map[string]map[string]any) {
	d.json(name)
	d.out.WriteString(`:{"hosts":{`)
	for i, host := range g.Hosts {
		d.member(i, host, d.variables(vars[host]))
	}
	d.out.WriteString(`},"children":{`)
	for i, child := range g.Children {
		d.member(i, child, map[string]any{})
	}
	d.out.WriteString(`},"vars":`)
	d.json(d.variables(g.Vars))
	d.out.WriteByte('}')
}

func (d *data) member(i int, name string, value any) {
	if i > 0 {
		d.out.WriteByte(',')
	}
	d.json(name)
	d.out.WriteByte(':')
	d.json(value)
}

func (d *data) json(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		d.err = errors.Join(d.err, fmt.Errorf("write an inventory: %w", err))
	}
	d.out.Write(b)
}

// variables returns the variables of a host or a group as data.
func (d *data) variables(vars map[string]any) map[string]any {
	out := make(map[string]any, len(vars))
	for name, v := range vars {
		if reserved.Variable(name) && !checked(name, v) {
			d.dropped[reserved.Shown(name)] = true
			continue
		}
		out[name] = d.value(v)
	}
	return out
}

func (d *data) value(v any) any {
	switch v := v.(type) {
	case string:
		return map[string]any{unsafeKey: v}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = d.value(v[i])
		}
		return out
	case map[string]any:
		if marked(v) {
			return v
		}
		out := make(map[string]any, len(v))
		for name, x := range v {
			if reserved.Member(name) {
				d.dropped[reserved.Shown(name)] = true
				continue
			}
			out[name] = d.value(x)
		}
		return out
	default:
		return v
	}
}

// marked reports whether a value is an encrypted text, or one that is never a template.
func marked(v map[string]any) bool {
	_, encrypted := v[vaultKey].(string)
	_, data := v[unsafeKey].(string)
	return len(v) == 1 && (encrypted || data)
}

var (
	hostForm = lazyregexp.New(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?\.?$`)
	addrForm = lazyregexp.New(`^[0-9A-Fa-f:.]+(%[A-Za-z0-9][A-Za-z0-9_.-]*)?$`)
	userForm = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.@\\-]{0,127}$`)
)

// checked reports whether a variable of a connection may come from a source that nobody trusts, with this value: it
// names a host, or selects one of the connections to network devices.
func checked(name string, v any) bool {
	if m, ok := v.(map[string]any); ok && marked(m) {
		v = m[unsafeKey]
	}
	text, isText := v.(string)
	switch name {
	case "ansible_host":
		_, err := netip.ParseAddr(text)
		return hostForm.MatchString(text) || err == nil && addrForm.MatchString(text)
	case "ansible_port":
		n, ok := v.(int64)
		if isText {
			parsed, err := strconv.ParseUint(text, 10, 16)
			n, ok = int64(parsed), err == nil
		}
		return ok && n > 0 && n <= 65535
	case "ansible_user":
		return userForm.MatchString(text)
	case "ansible_connection":
		return slices.Contains([]string{
			"network_cli", "netconf", "httpapi", "ansible.netcommon.network_cli", "ansible.netcommon.netconf",
			"ansible.netcommon.httpapi",
		}, text)
	default:
		return false
	}
}
