package audittest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Stores are the stores under test and their unit of work. They share one database.
type Stores struct {
	Unit     tx.Unit
	Chain    audit.ChainStore
	Reader   audit.ChainReader
	Tiles    audit.TileStore
	Anchors  audit.AnchorStore
	Identity audit.IdentityStore
	// Tamper changes the stored data without the stores.
	Tamper Tamperer
	// Beside opens the same database again, like another process. It is closed at the end of the test.
	Beside func(t *testing.T) Stores
}

// Tamperer changes a chain in ways that the stores do not offer and that a verifier must detect. Each method opens its
// own unit of work. A missing sequence number is an error.
type Tamperer interface {
	EditLeaf(ctx context.Context, seq int64, edit func(leaf string) string) error
	EditHash(ctx context.Context, seq int64, edit func(hash [32]byte) [32]byte) error
	// EditColumn changes a column that repeats the leaf: id, at, action, actor, object or run.
	EditColumn(ctx context.Context, seq int64, column, value string) error
	// EditPrivate replaces the disclosures and the detail, and adds them if there are none. The entry may be missing.
	EditPrivate(ctx context.Context, seq int64, disclosures []string, detail string) error
	// Delete deletes an entry with its private parts and leaves a hole.
	Delete(ctx context.Context, seq int64) error
	// Swap exchanges the numbers of two entries.
	Swap(ctx context.Context, a, b int64) error
	// CutAfter deletes all entries after one and makes it the tip; 0 deletes all. Anchors and tiles stay.
	CutAfter(ctx context.Context, seq int64) error
	// Insert inserts an entry at its number. The entries from there on move up by one, and so does the tip.
	Insert(ctx context.Context, e audit.Stored) error
}

// Each opens empty stores for each configuration of the implementation, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

func newEnv(s Stores) *env { return &env{Stores: s} }

// Run tests an implementation of the stores.
func Run(t *testing.T, each Each) {
	t.Helper()
	txtest.Run(t, []txtest.Group[*env]{
		{Name: "append", Cases: appendCases()},
		{Name: "races", Cases: raceCases()},
		{Name: "read", Cases: readCases()},
		{Name: "runs", Cases: runCases()},
		{Name: "tiles", Cases: tileCases()},
		{Name: "anchors", Cases: anchorCases()},
		{Name: "identity", Cases: identityCases()},
		{Name: "tamper", Cases: tamperCases()},
	}, each, newEnv)
}
