package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// driftTarget is what hosts drift from: the playbook of a template, or of a project, with an inventory.
type driftTarget struct{ id, name, template, playbook, inventory string }

func (t driftTarget) String() string {
	return oneLine(fmt.Sprintf("%s (%s, %s)", t.id, t.name, cmp.Or(t.inventory, "no stored inventory")), 200)
}

// targets returns what a host drifts from, or what any does, and the names of templates by their ids.
func (c *client) targets(
	ctx context.Context, host string,
) (list []driftTarget, templates map[string]string, err error) {
	rows, err := c.rows(ctx, "/v1/templates", "templates", nil)
	if err != nil {
		return nil, nil, err
	}
	all, err := c.drift(ctx, url.Values{"host": {host}}, mostListed)
	if err != nil {
		return nil, nil, err
	}
	templates = map[string]string{}
	for _, r := range rows {
		templates[stringField(r, "id")] = stringField(r, "name")
	}
	for _, r := range all.Resources {
		t := driftTarget{id: stringField(r, "target_id"), template: stringField(r, "template_id"),
			playbook: stringField(r, "playbook"), inventory: stringField(r, "inventory_id")}
		t.name = cmp.Or(templates[t.template], t.playbook)
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list, templates, nil
}

// target returns the id of the target that a name stands for: of its template, or its playbook. An id is returned
// unchanged. If no host drifts from a template, it is the id of the template, which finds no drift.
func (c *client) target(ctx context.Context, host, name string) (string, error) {
	if name == "" || isTarget(name) {
		return name, nil
	}
	list, templates, err := c.targets(ctx, host)
	if err != nil {
		return "", err
	}
	known := map[string]bool{}
	var found []driftTarget
	for _, t := range list {
		known[t.name] = true
		if name == t.name || name == t.template || name == t.playbook {
			found = append(found, t)
		}
	}
	switch {
	case len(found) == 1:
		return found[0].id, nil
	case len(found) > 1:
		return "", fmt.Errorf("several targets are named %q; give one of the ids: %s", name, texts(found))
	}
	for id, template := range templates {
		known[template] = true
		if name == template || name == id {
			return id, nil
		}
	}
	rows := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		rows = append(rows, map[string]any{"name": name})
	}
	return "", (&noun{name: "target", label: "name"}).none(name, rows)
}

func isTarget(s string) bool { return strings.HasPrefix(s, "tgt_") }

func texts(list []driftTarget) string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.String()
	}
	return strings.Join(out, ", ")
}

// whichTarget adds the targets that a host drifts from to an error that demands one.
func (c *client) whichTarget(ctx context.Context, host string, refused error) error {
	list, _, err := c.targets(ctx, host)
	if err != nil || len(list) < 2 {
		return refused
	}
	return fmt.Errorf("%w\n  give --target with one of %s", refused, texts(list))
}
