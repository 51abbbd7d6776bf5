package secrets

import (
	"bytes"
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/adapters/sqlstore/shelf"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

func credentials() shelf.Kind[secrets.Credential] {
	return shelf.Kind[secrets.Credential]{
		Table: "credentials", Noun: "credential", Missing: secrets.CredentialNotFound, Scan: scanOnly,
		Columns: []string{"kind", "type_id", "settings", "fields", "source", "has_secret", "secret_version"},
	}
}

const credentialSet = "kind = ?, type_id = ?, settings = ?, fields = ?, source = ?, has_secret = ?, secret_version = ?, sealed = ?"

// credentialValues are the columns of a credential in the order of credentialSet.
func credentialValues(c secrets.Credential, sealed []byte) ([]any, error) {
	documents := make([]string, 3)
	for i, v := range []any{c.Settings, c.Fields, c.Source} {
		var err error
		if documents[i], err = pack.Document(v); err != nil {
			return nil, err
		}
	}
	var text any
	if len(sealed) > 0 {
		text = sealed
	}
	return []any{string(c.Kind), c.TypeID, documents[0], documents[1], documents[2], c.HasSecret, c.SecretVersion, text}, nil
}

// InsertCredential implements secrets.Store. An id that exists is NameTaken as well, and an organization that does not is
// identity.OrgNotFound.
func (s *Store) InsertCredential(ctx context.Context, c secrets.Credential, sealed []byte) error {
	values, err := credentialValues(c, sealed)
	if err != nil {
		return err
	}
	k := credentials()
	k.Columns = append(k.Columns, "sealed")
	return k.Insert(ctx, s.d, c.Record, values...)
}

// CredentialByID implements secrets.Store.
func (s *Store) CredentialByID(ctx context.Context, id string) (secrets.Credential, error) {
	return credentials().ByID(ctx, s.d.Read(ctx), id)
}

// SealedByID implements secrets.Store.
func (s *Store) SealedByID(ctx context.Context, id string) (secrets.Credential, []byte, error) {
	type whole struct {
		credential secrets.Credential
		sealed     []byte
	}
	k := shelf.Kind[whole]{
		Table: "credentials", Noun: "credential", Missing: secrets.CredentialNotFound, Columns: append(credentials().Columns, "sealed"),
		Scan: func(r db.Row) (w whole, err error) {
			w.credential, err = scanCredential(r, &w.sealed)
			return w, err
		},
	}
	w, err := k.ByID(ctx, s.d.Read(ctx), id)
	return w.credential, w.sealed, err
}

// ListCredentials implements secrets.Store. They are by name and id.
func (s *Store) ListCredentials(ctx context.Context, sc access.Scope, f secrets.Filter, w page.Window) ([]secrets.Credential, int, error) {
	shown := shelf.Where(visible.Those(sc, identity.KindCredential, "o.id"))
	if f.Kind != "" {
		shown = shown.And("o.kind = ?", string(f.Kind))
	}
	if f.TypeID != "" {
		shown = shown.And("o.type_id = ?", f.TypeID)
	}
	return credentials().List(ctx, s.d.Read(ctx), shown, catalog.Filter{Name: f.Name, Org: f.Org}, w)
}

// UpdateCredential implements secrets.Store. An organization that does not exist is identity.OrgNotFound. Under the version that is
// stored, secrets stay or go: others than those stored were made of a credential as it was before, and are RevisionChanged.
func (s *Store) UpdateCredential(ctx context.Context, c secrets.Credential, sealed []byte, revision int64) (secrets.Credential, error) {
	none := secrets.Credential{}
	q, err := credentials().Held(ctx, s.d, c.ID, revision)
	if err != nil {
		return none, err
	}
	if err := fits(ctx, q, c, sealed); err != nil {
		return none, err
	}
	values, err := credentialValues(c, sealed)
	if err != nil {
		return none, err
	}
	return credentials().Update(ctx, q, c.Record, credentialSet, values...)
}

// fits compares the secrets of a change with those that are stored, in a row that is held.
func fits(ctx context.Context, q bun.IDB, c secrets.Credential, sealed []byte) error {
	type stored struct {
		version int64
		sealed  []byte
	}
	is, _, err := db.One(ctx, q, func(r db.Row) (x stored, err error) { return x, r.Scan(&x.version, &x.sealed) },
		"SELECT secret_version, sealed FROM credentials WHERE id = ?", c.ID)
	if err != nil {
		return fmt.Errorf("read the version of secrets: %w", err)
	}
	same := c.SecretVersion == is.version && (len(sealed) == 0 || bytes.Equal(sealed, is.sealed))
	if !same && c.SecretVersion != is.version+1 {
		return catalog.RevisionChanged.New("the secrets of the credential %q were changed meanwhile", c.ID)
	}
	return nil
}

// DeleteCredential implements secrets.Store. What the credential names goes with it.
func (s *Store) DeleteCredential(ctx context.Context, id string, revision int64) error {
	return credentials().Remove(ctx, s.d, id, revision)
}

func scanOnly(r db.Row) (secrets.Credential, error) { return scanCredential(r) }

// scanCredential reads the columns of a credential, and what follows them.
func scanCredential(r db.Row, more ...any) (c secrets.Credential, err error) {
	var at shelf.Stamps
	var settings, fields, source string
	err = r.Scan(append(append(shelf.Targets(&c.Record, &at),
		&c.Kind, &c.TypeID, &settings, &fields, &source, &c.HasSecret, &c.SecretVersion), more...)...)
	if err != nil {
		return c, err
	}
	at.Set(&c.Record)
	for _, doc := range []struct {
		column string
		into   any
	}{{settings, &c.Settings}, {fields, &c.Fields}, {source, &c.Source}} {
		if err := pack.Read(doc.column, doc.into); err != nil {
			return c, err
		}
	}
	return c, nil
}
