package secretstest

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
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

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases map[string]func(*testing.T, *env)
	}{
		{"credentials", with(recordCases(credentials), boundCase(credentials), orgCases(), credentialCases(), sealedCases())},
		{"types", with(recordCases(types), typeCases())},
		{"leases", leaseCases()},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for name, fn := range group.cases {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					each(t, func(t *testing.T, s Stores) { fn(t, &env{Stores: s}) })
				})
			}
		})
	}
	for name, of := range map[string]func(*env) SealedStoreUnderTest{"credentials are held": heldCredentials,
		"leases are held": heldLeases} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			RunSealedStore(t, func(t *testing.T, fn func(*testing.T, SealedStoreUnderTest)) {
				each(t, func(t *testing.T, s Stores) { fn(t, of(&env{Stores: s})) })
			})
		})
	}
}

// with merges maps of cases with distinct names.
func with(all ...map[string]func(*testing.T, *env)) map[string]func(*testing.T, *env) {
	out := make(map[string]func(*testing.T, *env))
	for _, cases := range all {
		maps.Copy(out, cases)
	}
	return out
}

// recordCases returns the cases for both kinds of records.
func recordCases[T any](of func(*env) objectStore[T]) map[string]func(*testing.T, *env) {
	out := make(map[string]func(*testing.T, *env))
	for name, fn := range map[string]func(*testing.T, *env, objectStore[T]){
		"whole records":        whole[T],
		"what is not there":    missing[T],
		"units":                units[T],
		"names":                names[T],
		"one new name at once": namesRace[T],
		"one name taken over":  renamesRace[T],
		"revisions":            revisions[T],
		"one revision at once": revisionsRace[T],
		"any revision at once": anyRevisionRace[T],
		"windows":              pages[T],
		"the order of a list":  order[T],
	} {
		out[name] = func(t *testing.T, e *env) { fn(t, e, of(e)) }
	}
	if depthtest.Long {
		maps.Copy(out, boundCase(of))
	}
	return out
}

// boundCase writes more rows than one page. A quick run does so for one kind of record only.
func boundCase[T any](of func(*env) objectStore[T]) map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"no answer is endless": func(t *testing.T, e *env) { bound(t, e, of(e)) },
	}
}
