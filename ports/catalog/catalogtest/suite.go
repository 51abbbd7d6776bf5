package catalogtest

import (
	"maps"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/tx"
)

// Stores are the stores under test, the stores of rights that they read, and the unit of work that they join. They
// share one database.
type Stores struct {
	Unit        tx.Unit
	Projects    catalog.ProjectStore
	Inventories catalog.InventoryStore
	Sources     catalog.SourceStore
	Templates   catalog.TemplateStore
	Usage       object.Usage

	Refreshes    catalog.RefreshStore
	RefreshQueue catalog.RefreshQueue

	Orgs    identity.OrgStore
	Teams   identity.TeamStore
	Grants  identity.GrantStore
	Objects identity.ObjectStore
}

// Each opens new stores for each configuration of the implementation, and calls fn in a subtest.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases map[string]func(*testing.T, *env)
	}{
		{"projects", with(objectCases(projects), boundCase(projects), projectCases())},
		{"inventories", with(objectCases(inventories), inventoryCases())},
		{"sources", with(recordCases(sources), sourceCases(), dueCases(), executedCases())},
		{"templates", with(objectCases(templates), templateCases())},
		{"usage", usageCases()},
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
}

// with merges maps of cases with distinct names.
func with(all ...map[string]func(*testing.T, *env)) map[string]func(*testing.T, *env) {
	out := make(map[string]func(*testing.T, *env))
	for _, cases := range all {
		maps.Copy(out, cases)
	}
	return out
}

// objectCases returns the cases for kinds with grants.
func objectCases[T any](of func(*env) objectStore[T]) map[string]func(*testing.T, *env) {
	return with(recordCases(of), map[string]func(*testing.T, *env){
		"what a scope shows": func(t *testing.T, e *env) { scopes(t, e, of(e)) },
	})
}

// recordCases returns the cases for every kind.
func recordCases[T any](of func(*env) objectStore[T]) map[string]func(*testing.T, *env) {
	out := make(map[string]func(*testing.T, *env))
	for name, fn := range map[string]func(*testing.T, *env, objectStore[T]){
		"whole records":              whole[T],
		"what is not there":          missing[T],
		"an unknown organization":    unknownOrg[T],
		"units":                      units[T],
		"names":                      names[T],
		"one new name at once":       namesRace[T],
		"one name taken over":        renamesRace[T],
		"revisions":                  revisions[T],
		"one revision at once":       revisionsRace[T],
		"any revision at once":       anyRevisionRace[T],
		"windows":                    pages[T],
		"filters":                    filters[T],
		"the order of a list":        order[T],
		"a deleted one names no one": deletedOwner[T],
	} {
		out[name] = func(t *testing.T, e *env) { fn(t, e, of(e)) }
	}
	if depthtest.Long {
		maps.Copy(out, boundCase(of))
	}
	return out
}

// boundCase writes more rows than one page. Short tests run it for one kind only.
func boundCase[T any](of func(*env) objectStore[T]) map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"no answer is endless": func(t *testing.T, e *env) { bound(t, e, of(e)) },
	}
}
