package objecttest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Rights are the stores of rights, in the database of the stores under test.
type Rights struct {
	Orgs    identity.OrgStore
	Teams   identity.TeamStore
	Grants  identity.GrantStore
	Objects identity.ObjectStore
}

// Env is the environment of a case for named objects: it also makes records, and stores rights to them.
type Env struct {
	*txtest.Env
	rights Rights
}

// NewEnv returns the environment of a case.
func NewEnv(u tx.Unit, r Rights) *Env { return &Env{Env: txtest.NewEnv(u), rights: r} }

// Record returns the minimal record of an object in the form in which it reads back. An empty name means a new one.
func (e *Env) Record(p ids.Prefix, name string) object.Record {
	id := e.ID(p)
	if name == "" {
		name = "name of " + id
	}
	return object.Record{
		ID: id, Name: name, CreatedBy: "usr_who", CreatedAt: txtest.Epoch(), UpdatedAt: txtest.Epoch(), Revision: 1,
	}
}

// AddOrg stores an organization and returns its id.
func (e *Env) AddOrg(t *testing.T) string {
	t.Helper()
	id := e.ID(ids.Org)
	e.Must(t, func(ctx context.Context) error {
		return e.rights.Orgs.InsertOrg(ctx,
			identity.Org{ID: id, Name: "name of " + id, CreatedAt: txtest.Epoch(), CreatedBy: "usr_who"})
	})
	return id
}

// AddTeam stores a team and returns it as a subject of grants.
func (e *Env) AddTeam(t *testing.T) string {
	t.Helper()
	id := e.ID(ids.Team)
	e.Must(t, func(ctx context.Context) error {
		return e.rights.Teams.InsertTeam(ctx,
			identity.Team{ID: id, Name: "name of " + id, CreatedAt: txtest.Epoch(), CreatedBy: "usr_who"})
	})
	return identity.TeamSubject(id)
}

// Know registers an object; org may be empty.
func (e *Env) Know(t *testing.T, id, org string) {
	t.Helper()
	e.Must(t, func(ctx context.Context) error {
		return e.rights.Objects.PutObject(ctx, identity.Object{ID: id, Org: org})
	})
}

// Known registers a new object and returns its id.
func (e *Env) Known(t *testing.T, p ids.Prefix) string {
	t.Helper()
	id := e.ID(p)
	e.Know(t, id, "")
	return id
}

// Grant gives a subject the level read on an object.
func (e *Env) Grant(t *testing.T, subject, object string) {
	t.Helper()
	g := identity.Grant{ID: e.ID(ids.Grant), Subject: subject, Object: object, Level: access.Read,
		CreatedAt: txtest.Epoch(), CreatedBy: "usr_who"}
	e.Must(t, func(ctx context.Context) error {
		_, err := e.rights.Grants.InsertGrant(ctx, g)
		return err
	})
}
