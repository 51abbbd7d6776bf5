package runstest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
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
	Keys      runs.KeyStore
	Tickets   runs.TicketStore
	Purger    runs.Purger
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

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases map[string]func(*testing.T, *env)
	}{
		{"records", recordCases()},
		{"moves", moveCases()},
		{"list", listCases()},
		{"search", searchCases()},
		{"hidden texts", hiddenCases()},
		{"queue", queueCases()},
		{"races", raceCases()},
		{"logs", logCases()},
		{"events", eventCases()},
		{"summaries", summaryCases()},
		{"keys", keyCases()},
		{"purge", purgeCases()},
		{"objects", objectCases()},
		{"scopes", scopeCases()},
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

// RunLogs tests only a LogStore against the contract. It uses the stores Unit, Runs, Queue and Logs.
func RunLogs(t *testing.T, each Each) {
	t.Helper()
	for name, fn := range logCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s Stores) { fn(t, &env{Stores: s}) })
		})
	}
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
