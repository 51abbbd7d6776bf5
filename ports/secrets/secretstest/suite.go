package secretstest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Stores are the stores under test, the stores that they read, and the unit of work that they join. They share one
// database.
type Stores struct {
	Unit        tx.Unit
	Credentials secrets.Store
	Types       secrets.TypeStore
	Leases      secrets.LeaseStore
	// SealedCredentials and HeldLeases are the tables with the sealed texts of credentials and leases.
	SealedCredentials secrets.SealedStore
	SealedLeases      secrets.SealedStore
	// Age moves the times of one lease back by a duration.
	Age func(ctx context.Context, lease string, by time.Duration) error

	Runs    runs.Store
	Queue   runs.Queue
	Orgs    identity.OrgStore
	Teams   identity.TeamStore
	Grants  identity.GrantStore
	Objects identity.ObjectStore
}

// Each opens fresh stores for each configuration of the implementation, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

// env holds the stores of a case and makes records for them.
type env struct {
	Stores
	*objecttest.Env
}

func newEnv(s Stores) *env {
	rights := objecttest.Rights{Orgs: s.Orgs, Teams: s.Teams, Grants: s.Grants, Objects: s.Objects}
	return &env{Stores: s, Env: objecttest.NewEnv(s.Unit, rights)}
}

func objects(e *env) *objecttest.Env { return e.Env }

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	txtest.Run(t, []txtest.Group[*env]{
		{Name: "credentials", Cases: txtest.With(objecttest.Cases(objects, credentials),
			objecttest.ScopeCase(objects, credentials), objecttest.BoundCase(objects, credentials), credentialCases(),
			sealedCases())},
		{Name: "types", Cases: txtest.With(objecttest.Cases(objects, types), typeCases())},
		{Name: "leases", Cases: leaseCases()},
	}, each, newEnv)
	for name, of := range map[string]func(*env) SealedStoreUnderTest{"credentials are held": heldCredentials,
		"leases are held": heldLeases} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			RunSealedStore(t, func(t *testing.T, fn func(*testing.T, SealedStoreUnderTest)) {
				each(t, func(t *testing.T, s Stores) { fn(t, of(newEnv(s))) })
			})
		})
	}
}
