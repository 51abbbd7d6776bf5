package secrets

import (
	"bytes"
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

type credential struct {
	bun.BaseModel `bun:"table:credentials,alias:o"`
	objects.Record
	credentialColumns
	Sealed []byte `bun:",nullzero"`
}

// credentialColumns is a secrets.Credential with the names of its columns.
type credentialColumns struct {
	object.Record `bun:"-"`
	Kind          secrets.Kind
	Settings      map[string]any
	TypeID        string
	Fields        map[string]any
	Source        *secrets.Source
	HasSecret     bool
	SecretVersion int64
}

func credentialRow(c secrets.Credential, sealed []byte) credential {
	return credential{Record: objects.Record(c.Record), credentialColumns: credentialColumns(c), Sealed: sealed}
}

func (c credential) Object() secrets.Credential {
	out := secrets.Credential(c.credentialColumns)
	out.Record = object.Record(c.Record)
	return out
}

var credentials = objects.Kind[secrets.Credential, credential]{
	Noun: "credential", Missing: secrets.CredentialNotFound, Unread: []string{"sealed"},
}

// InsertCredential also returns NameTaken for an existing id, and identity.OrgNotFound for an unknown organization.
func (s *Store) InsertCredential(ctx context.Context, c secrets.Credential, sealed []byte) error {
	return credentials.Insert(ctx, s.d, credentialRow(c, sealed))
}

func (s *Store) CredentialByID(ctx context.Context, id string) (secrets.Credential, error) {
	return credentials.ByID(ctx, s.d.Read(ctx), id)
}

func (s *Store) SealedByID(ctx context.Context, id string) (secrets.Credential, []byte, error) {
	var row credential
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Where("o.id = ?", id))
	return row.Object(), row.Sealed, db.OrMissing(ok, db.Wrap(err, "read the credential %q", id), credentials.None(id))
}

// ListCredentials sorts them by name and id.
func (s *Store) ListCredentials(
	ctx context.Context, sc access.Scope, f secrets.Filter, w page.Window,
) ([]secrets.Credential, int, error) {
	narrowed := objects.Where(visible.Those(sc, identity.KindCredential, "o.id"))
	if f.Kind != "" {
		narrowed = narrowed.And("o.kind = ?", f.Kind)
	}
	if f.TypeID != "" {
		narrowed = narrowed.And("o.type_id = ?", f.TypeID)
	}
	return credentials.List(ctx, s.d.Read(ctx), narrowed, catalog.Filter{Name: f.Name, Names: f.Names, Org: f.Org}, w)
}

// UpdateCredential returns identity.OrgNotFound for an unknown organization. With the stored version it keeps or
// deletes the stored secrets. Other secrets with that version belong to an earlier state of the credential and are
// RevisionChanged.
func (s *Store) UpdateCredential(
	ctx context.Context, c secrets.Credential, sealed []byte, revision int64,
) (secrets.Credential, error) {
	q, err := credentials.Lock(ctx, s.d, c.ID, revision)
	if err == nil {
		err = checkVersion(ctx, q, c, sealed)
	}
	if err != nil {
		return secrets.Credential{}, err
	}
	return credentials.Replace(ctx, q, credentialRow(c, sealed))
}

// checkVersion compares the secrets of a change with the stored ones. The row must be locked.
func checkVersion(ctx context.Context, q bun.IDB, c secrets.Credential, sealed []byte) error {
	var is credential
	if _, err := db.First(ctx, q.NewSelect().Model(&is).Column("secret_version", "sealed").
		Where("o.id = ?", c.ID)); err != nil {
		return fmt.Errorf("read the version of secrets: %w", err)
	}
	same := c.SecretVersion == is.SecretVersion && (len(sealed) == 0 || bytes.Equal(sealed, is.Sealed))
	if !same && c.SecretVersion != is.SecretVersion+1 {
		return catalog.RevisionChanged.New("the secrets of the credential %q were changed meanwhile", c.ID)
	}
	return nil
}

// DeleteCredential deletes the references of the credential too.
func (s *Store) DeleteCredential(ctx context.Context, id string, revision int64) error {
	return credentials.Remove(ctx, s.d, id, revision)
}
