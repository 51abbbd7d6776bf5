package secrets

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/adapters/sqlstore/shelf"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

func types() shelf.Kind[secrets.Type] {
	return shelf.Kind[secrets.Type]{
		Table: "credential_types", Noun: "type of credentials", Missing: secrets.TypeNotFound, Scan: scanType,
		Columns: []string{"fields", "inject"},
	}
}

// plain returns the record of a type: it is of no organization.
func plain(t secrets.Type) catalog.Record {
	t.Org = ""
	return t.Record
}

func typeValues(t secrets.Type) ([]any, error) {
	fields, err := pack.Document(t.Fields)
	if err != nil {
		return nil, err
	}
	inject, err := pack.Document(t.Inject)
	return []any{fields, inject}, err
}

// InsertType implements secrets.TypeStore. An id that exists is NameTaken as well.
func (s *Store) InsertType(ctx context.Context, t secrets.Type) error {
	values, err := typeValues(t)
	if err != nil {
		return err
	}
	return types().Insert(ctx, s.d, plain(t), values...)
}

// TypeByID implements secrets.TypeStore.
func (s *Store) TypeByID(ctx context.Context, id string) (secrets.Type, error) {
	return types().ByID(ctx, s.d.Read(ctx), id)
}

// HoldType implements secrets.TypeStore. Those who hold one type do not wait for one another. Outside of a unit it is an Internal fault.
func (s *Store) HoldType(ctx context.Context, id string) (secrets.Type, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return secrets.Type{}, err
	}
	t, ok, err := db.One(ctx, q, scanType, types().Selects()+" WHERE o.id = ?"+s.say.ForShare(), id)
	switch {
	case err != nil:
		return t, fmt.Errorf("hold a type of credentials: %w", err)
	case !ok:
		return t, types().None(id)
	}
	return t, nil
}

// ListTypes implements secrets.TypeStore.
func (s *Store) ListTypes(ctx context.Context, name string, w page.Window) ([]secrets.Type, int, error) {
	return types().List(ctx, s.d.Read(ctx), shelf.Where("1 = 1", nil), catalog.Filter{Name: name}, w)
}

// UpdateType implements secrets.TypeStore. It waits for those who hold the type.
func (s *Store) UpdateType(ctx context.Context, t secrets.Type, revision int64) (secrets.Type, error) {
	q, err := types().Held(ctx, s.d, t.ID, revision)
	if err != nil {
		return secrets.Type{}, err
	}
	values, err := typeValues(t)
	if err != nil {
		return secrets.Type{}, err
	}
	return types().Update(ctx, q, plain(t), "fields = ?, inject = ?", values...)
}

// DeleteType implements secrets.TypeStore. It waits for those who hold the type.
func (s *Store) DeleteType(ctx context.Context, id string, revision int64) error {
	return types().Remove(ctx, s.d, id, revision)
}

func scanType(r db.Row) (t secrets.Type, err error) {
	var at shelf.Stamps
	var fields, inject string
	if err := r.Scan(append(shelf.Targets(&t.Record, &at), &fields, &inject)...); err != nil {
		return t, err
	}
	at.Set(&t.Record)
	if err := pack.Read(fields, &t.Fields); err != nil {
		return t, err
	}
	return t, pack.Read(inject, &t.Inject)
}
