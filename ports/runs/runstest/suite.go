package runstest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Stores are the stores under test and the unit of work that they join. They share one database.
type Stores struct {
	Unit      tx.Unit
	Runs      runs.Store
	Objects   runs.ObjectStore
	Queue     runs.Queue
	Logs      runs.LogStore
	Events    runs.EventStore
	Summaries runs.SummaryStore
	Facts     runs.FactQueue
	Keys      runs.KeyStore
	Tickets   runs.TicketStore
	Purger    runs.Purger
	Slots     runs.SlotStore
	Waits     runs.WaitStore
	Facets    runs.FacetStore
	Plans     runs.PlanStore
	// Restrict changes who may read an object.
	Restrict func(ctx context.Context, r Restriction) error
	// Copy makes n more top-level runs like the given one, faster than one by one. It adds no words, labels and hosts
	// to search by.
	Copy func(ctx context.Context, id string, n int) error
	// TotalCap is the cap of totals in these stores, if it differs from runs.TotalCap. It is even.
	TotalCap int
}

// Restriction hides an object from everyone except the named subjects and the administrators of its organization, if
// it has one.
type Restriction struct {
	Object  string
	Org     string
	Readers []string
}

// Each opens fresh stores for each configuration of the implementation, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

func newEnv(s Stores) *env { return &env{Stores: s} }

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	txtest.Run(t, []txtest.Group[*env]{
		{Name: "records", Cases: recordCases()},
		{Name: "moves", Cases: moveCases()},
		{Name: "list", Cases: listCases()},
		{Name: "search", Cases: searchCases()},
		{Name: "facets", Cases: facetCases()},
		{Name: "hidden texts", Cases: hiddenCases()},
		{Name: "queue", Cases: queueCases()},
		{Name: "races", Cases: raceCases()},
		{Name: "moves between queues", Cases: setQueueCases()},
		{Name: "slots", Cases: slotCases()},
		{Name: "windows", Cases: waitCases()},
		{Name: "exclusive hosts", Cases: hostCases()},
		{Name: "logs", Cases: logCases()},
		{Name: "events", Cases: eventCases()},
		{Name: "summaries", Cases: summaryCases()},
		{Name: "keys", Cases: keyCases()},
		{Name: "plans", Cases: planCases()},
		{Name: "purge", Cases: purgeCases()},
		{Name: "objects", Cases: objectCases()},
		{Name: "scopes", Cases: scopeCases()},
	}, each, newEnv)
}

// RunLogs tests only a LogStore against the contract. It uses the stores Unit, Runs, Queue and Logs.
func RunLogs(t *testing.T, each Each) {
	t.Helper()
	txtest.RunCases(t, logCases(), each, newEnv)
}

// do runs fn in a unit of work and returns its error.
func (e *env) do(t *testing.T, fn func(ctx context.Context) error) error {
	t.Helper()
	return e.Unit.Do(t.Context(), fn)
}

// must runs fn in a unit of work that may not fail.
func (e *env) must(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	if err := e.do(t, fn); err != nil {
		t.Fatalf("unit of work: %v", err)
	}
}
