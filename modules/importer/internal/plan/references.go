package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/modules/importer/internal/objects"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

// reference is a member that names an object, or a list of objects, of a kind. Its id has the name of the API.
type reference struct {
	member, id string
	kind       importer.Kind
}

// references are the members of each kind that name objects.
func references(kind importer.Kind) []reference {
	project := reference{"project", "project_id", importer.Project}
	inventory := reference{"inventory", "inventory_id", importer.Inventory}
	one := reference{"credential", "credential_id", importer.Credential}
	list := reference{"credentials", "credential_ids", importer.Credential}
	template := reference{"template", "template_id", importer.Template}
	switch kind {
	case importer.Credential:
		return []reference{{"type", "type_id", importer.CredentialType}}
	case importer.Project:
		return []reference{one}
	case importer.Inventory:
		return []reference{list}
	case importer.Source:
		return []reference{project, one, inventory}
	case importer.Template:
		return []reference{project, inventory, list}
	case importer.Schedule:
		return []reference{template}
	case step:
		return []reference{project, inventory, list, template}
	default:
		return nil
	}
}

// step stands for the steps of templates among the kinds with references.
const step importer.Kind = "step"

// members returns the members of an object with the ids of what it names. A fault names what it lacks.
func (p *pass) members(ctx context.Context, o importer.Object) (objects.Members, error) {
	m, err := membersOf(o.Spec)
	if err != nil {
		return nil, err
	}
	if err := p.refer(ctx, o.Kind, m); err != nil {
		return nil, err
	}
	if path, ok := m["inventory_path"]; ok {
		delete(m, "inventory_path")
		m["inventory"] = path
	}
	usual(m)
	steps, _ := m["steps"].([]any)
	for _, s := range steps {
		if one, ok := s.(map[string]any); ok {
			usual(one)
			if err := p.refer(ctx, step, one); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func membersOf(spec any) (objects.Members, error) {
	if t, ok := spec.(*importer.TemplateSpec); ok {
		return objects.TemplateMembers(*t)
	}
	return objects.MembersOf(spec)
}

// usual leaves out the tool that templates and steps without one have, as the manifests of the command line do: both
// write the same.
func usual(m objects.Members) {
	if m["tool"] == runs.Ansible {
		delete(m, "tool")
	}
}

// refer replaces the names in m by ids.
func (p *pass) refer(ctx context.Context, kind importer.Kind, m objects.Members) error {
	for _, r := range references(kind) {
		switch v := m[r.member].(type) {
		case string:
			id, err := p.id(ctx, r.kind, v)
			if err != nil {
				return err
			}
			delete(m, r.member)
			m[r.id] = id
		case []any:
			list := make([]any, len(v))
			for i, name := range v {
				text, _ := name.(string)
				id, err := p.id(ctx, r.kind, text)
				if err != nil {
					return err
				}
				list[i] = id
			}
			delete(m, r.member)
			m[r.id] = list
		}
	}
	return nil
}

// id returns the id of an object by its name: one of the import, or else a stored one.
func (p *pass) id(ctx context.Context, kind importer.Kind, name string) (string, error) {
	key := named{kind, name}
	if id, ok := p.ids[key]; ok {
		if id == "" {
			return "", needs(key, "which is not imported")
		}
		return id, nil
	}
	id, err := p.Find(ctx, kind, name)
	switch {
	case object.NotFound.Is(err):
		return "", needs(key, "which does not exist")
	case errors.Is(err, ErrSeveral):
		return "", needs(key, "which several organizations have")
	case err != nil:
		return "", err
	}
	p.ids[key] = id
	return id, nil
}

// ErrSeveral is a name that objects of several organizations have, and none without one.
var ErrSeveral = errors.New("several organizations have an object of this name")

// Find returns the id of the stored object that a name means: the one in no organization, or else the only one.
// NotFound of package object is a name that none has, ErrSeveral one that several have.
func (p *Planner) Find(ctx context.Context, kind importer.Kind, name string) (string, error) {
	all, err := p.Kinds[kind].Named(ctx, name)
	found := all[name]
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", object.NotFound.New("no object %q", name)
	case len(found) > 1:
		return "", ErrSeveral
	}
	return found[0].ID, nil
}

func needs(n named, why string) error {
	return &fault.Error{Kind: fault.Invalid, Message: fmt.Sprintf("it needs the %s %q, %s",
		strings.ReplaceAll(string(n.kind), "_", " "), n.name, why)}
}
