package objects

import (
	"context"
	"maps"
	"slices"

	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

type types struct {
	plain
	port secrets.Types
}

// credentialType has the members of a type.
type credentialType struct {
	Fields []secrets.Field   `json:"fields"`
	Inject secrets.Injectors `json:"inject"`
}

func (k types) Named(ctx context.Context, names ...string) (map[string][]Stored, error) {
	out := make(map[string][]Stored)
	for part := range slices.Chunk(names, 1) { // types have no filter for several names
		found, err := named(part, func(some []string, w page.Window) ([]secrets.Type, int, error) {
			return k.port.List(ctx, some[0], w)
		}, func(t secrets.Type) object.Record { return t.Record },
			func(t secrets.Type) (Members, error) { return MembersOf(credentialType{t.Fields, t.Inject}) })
		if err != nil {
			return nil, err
		}
		maps.Copy(out, found)
	}
	return out, nil
}

func (k types) Create(ctx context.Context, name string, m Members) (string, error) {
	t, err := typeOf(object.Record{Name: name}, m)
	if err == nil {
		t, err = k.port.Create(ctx, t)
	}
	return t.ID, err
}

func (k types) Update(ctx context.Context, s Stored, m Members) error {
	t, err := typeOf(s.Record, m)
	if err == nil {
		_, err = k.port.Update(ctx, s.ID, s.Revision, t)
	}
	return err
}

func typeOf(r object.Record, m Members) (secrets.Type, error) {
	var v credentialType
	err := into(m, &v)
	return secrets.Type{Record: r, Fields: v.Fields, Inject: v.Inject}, err
}

type credentials struct {
	plain
	port secrets.Credentials
}

// credential has the members of a credential but its secrets and its source, which imports never set.
type credential struct {
	Kind     secrets.Kind   `json:"kind"`
	Settings map[string]any `json:"settings"`
	TypeID   string         `json:"type_id"`
	Fields   map[string]any `json:"fields"`
}

func (k credentials) Named(ctx context.Context, names ...string) (map[string][]Stored, error) {
	return named(names, func(some []string, w page.Window) ([]secrets.Credential, int, error) {
		return k.port.List(ctx, secrets.Filter{Names: some}, w)
	}, func(c secrets.Credential) object.Record { return c.Record }, func(c secrets.Credential) (Members, error) {
		return MembersOf(credential{c.Kind, c.Settings, c.TypeID, c.Fields})
	})
}

func (k credentials) Create(ctx context.Context, name string, m Members) (string, error) {
	c, err := changeOf(secrets.Credential{Record: object.Record{Name: name}}, m)
	if err != nil {
		return "", err
	}
	made, _, err := k.port.Create(ctx, c)
	return made.ID, err
}

func (k credentials) Update(ctx context.Context, s Stored, m Members) error {
	stored, err := k.port.Get(ctx, s.ID)
	if err != nil {
		return err
	}
	c, err := changeOf(stored, m)
	if err == nil {
		_, _, err = k.port.Update(ctx, s.ID, s.Revision, c)
	}
	return err
}

func changeOf(c secrets.Credential, m Members) (secrets.Change, error) {
	var v credential
	err := into(m, &v)
	c.Kind, c.Settings, c.TypeID, c.Fields = v.Kind, v.Settings, v.TypeID, v.Fields
	return secrets.Change{Credential: c}, err
}
