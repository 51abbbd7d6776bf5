package secrets

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

type credentialType struct {
	bun.BaseModel `bun:"table:credential_types,alias:o"`
	objects.Record
	typeColumns
}

// typeColumns is a secrets.Type with the names of its columns.
type typeColumns struct {
	object.Record `bun:"-"`
	Fields        []secrets.Field
	Inject        secrets.Injectors
}

// typeRow returns the row of a type. Types have no organization.
func typeRow(t secrets.Type) credentialType {
	t.Org = ""
	return credentialType{Record: objects.Record(t.Record), typeColumns: typeColumns(t)}
}

func (t credentialType) Object() secrets.Type {
	out := secrets.Type(t.typeColumns)
	out.Record = object.Record(t.Record)
	return out
}

var types = objects.Kind[secrets.Type, credentialType]{Noun: "type of credentials", Missing: secrets.TypeNotFound}

// InsertType also returns NameTaken for an existing id.
func (s *Store) InsertType(ctx context.Context, t secrets.Type) error {
	return types.Insert(ctx, s.d, typeRow(t))
}

func (s *Store) TypeByID(ctx context.Context, id string) (secrets.Type, error) {
	return types.ByID(ctx, s.d.Read(ctx), id)
}

// LockType takes a shared lock, so that callers do not wait for each other. Outside of a unit it returns an Internal
// fault.
func (s *Store) LockType(ctx context.Context, id string) (secrets.Type, error) {
	return types.ByID(ctx, s.d.InUnit(ctx), id, s.dialect.LockShare)
}

func (s *Store) ListTypes(ctx context.Context, name string, w page.Window) ([]secrets.Type, int, error) {
	return types.List(ctx, s.d.Read(ctx), objects.Where("1 = 1", nil), catalog.Filter{Name: name}, w)
}

// UpdateType waits for units that hold the lock of LockType.
func (s *Store) UpdateType(ctx context.Context, t secrets.Type, revision int64) (secrets.Type, error) {
	return types.Update(ctx, s.d, typeRow(t), revision)
}

// DeleteType waits for units that hold the lock of LockType.
func (s *Store) DeleteType(ctx context.Context, id string, revision int64) error {
	return types.Remove(ctx, s.d, id, revision)
}
