package audittest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/tx"
)

// Stores are the stores under test and the unit of work that they join. They share one database.
type Stores struct {
	Unit     tx.Unit
	Chain    audit.ChainStore
	Reader   audit.ChainReader
	Tiles    audit.TileStore
	Anchors  audit.AnchorStore
	Identity audit.IdentityStore
	// Tamper changes what is stored behind the stores' back.
	Tamper Tamperer
	// Beside opens the same database once more, as another process does. It is closed when the test ends.
	Beside func(t *testing.T) Stores
}

// Tamperer changes a chain as nobody may who goes through the stores: it is what a verifier has to notice. Each
// method opens a unit of work of its own. A sequence number that is not there is an error.
type Tamperer interface {
	EditLeaf(ctx context.Context, seq int64, edit func(leaf string) string) error
	EditHash(ctx context.Context, seq int64, edit func(hash [32]byte) [32]byte) error
	// EditColumn changes what repeats the leaf. Column is id, at, action, actor, object or run.
	EditColumn(ctx context.Context, seq int64, column, value string) error
	// EditPrivate replaces the disclosures and the detail, also where there are none. The number need not be there.
	EditPrivate(ctx context.Context, seq int64, disclosures []string, detail string) error
	// Delete takes an entry away with its private parts and leaves a hole.
	Delete(ctx context.Context, seq int64) error
	// Swap exchanges the numbers of two entries.
	Swap(ctx context.Context, a, b int64) error
	// CutAfter drops everything behind an entry and makes it the tip; 0 leaves nothing. Anchors and tiles stay.
	CutAfter(ctx context.Context, seq int64) error
	// Insert puts an entry at its number. Those from there on move up by one, and the tip with them.
	Insert(ctx context.Context, e audit.Stored) error
}

// Each opens fresh stores, once for each way in which the implementation can be set up, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

// Run holds an implementation to the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases map[string]func(*testing.T, *env)
	}{
		{"append", appendCases()},
		{"races", raceCases()},
		{"read", readCases()},
		{"runs", runCases()},
		{"tiles", tileCases()},
		{"anchors", anchorCases()},
		{"identity", identityCases()},
		{"tamper", tamperCases()},
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
