package catalogtest

import (
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Stores are the stores under test, the stores of rights that they read, and the unit of work that they join. They
// share one database.
type Stores struct {
	Unit        tx.Unit
	Projects    catalog.ProjectStore
	Inventories catalog.InventoryStore
	Versions    catalog.InventoryVersionStore
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

// odd is text with characters that are special somewhere.
const odd = txtest.Odd

// env is what a case works with.
type env struct {
	Stores
	*objecttest.Env
}

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	txtest.Run(t, []txtest.Group[*env]{
		{Name: "projects", Cases: txtest.With(kindCases(projects), scopeCase(projects), projectCases(),
			objecttest.BoundCase(objects, projects))},
		{Name: "inventories", Cases: txtest.With(kindCases(inventories), scopeCase(inventories), inventoryCases(),
			versionCases())},
		{Name: "sources", Cases: txtest.With(kindCases(sources), sourceCases(), dueCases(), executedCases())},
		{Name: "templates", Cases: txtest.With(kindCases(templates), scopeCase(templates), templateCases())},
		{Name: "usage", Cases: usageCases()},
	}, each, newEnv)
}

func newEnv(s Stores) *env {
	rights := objecttest.Rights{Orgs: s.Orgs, Teams: s.Teams, Grants: s.Grants, Objects: s.Objects}
	return &env{Stores: s, Env: objecttest.NewEnv(s.Unit, rights)}
}

func objects(e *env) *objecttest.Env { return e.Env }

// kindCases returns the cases for every kind.
func kindCases[T any](of func(*env) objecttest.Store[T]) txtest.Cases[*env] {
	return txtest.With(objecttest.Cases(objects, of), txtest.Cases[*env]{
		"a deleted one names no one": func(t *testing.T, e *env) { deletedOwner(t, e, of(e)) },
	})
}

// scopeCase returns the case for kinds with grants.
func scopeCase[T any](of func(*env) objecttest.Store[T]) txtest.Cases[*env] {
	return objecttest.ScopeCase(objects, of)
}
