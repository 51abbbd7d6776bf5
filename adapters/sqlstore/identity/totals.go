package identity

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
)

// maxTotals is the largest number of cached totals.
const maxTotals = 4096

// totals caches how many restricted objects scopes may read, which changes only with the version of rights and takes
// long to count with many grants. A total is valid only for its version, so entries never expire.
type totals struct {
	mu      sync.Mutex
	version int64
	known   map[totalKey]int
}

// totalKey identifies a kind and a scope in constant space.
type totalKey [sha256.Size]byte

// keyOf returns equal keys exactly for scopes that differ only in the order of their elements.
func keyOf(kind string, sc access.Scope) totalKey {
	return sha256.Sum256(fmt.Appendf(nil, "%q %t %t %q %q", kind, sc.All, sc.Strict, once(sc.Subjects), once(sc.Orgs)))
}

// of returns the total of a scope at the current version; count computes a missing one. In an open unit it stores
// nothing, because the visible version may never commit.
func (t *totals) of(
	ctx context.Context, q bun.IDB, inUnit bool, kind string, sc access.Scope, count func() (int, error),
) (int, error) {
	if inUnit {
		return count()
	}
	var state accessState
	if _, err := db.First(ctx, q.NewSelect().Model(&state).Where("s.id = 1")); err != nil {
		return 0, err
	}
	key := keyOf(kind, sc)
	if n, ok := t.get(state.Version, key); ok {
		return n, nil
	}
	// The count may be newer than the version; then no caller reads that version any more.
	n, err := count()
	if err == nil {
		t.put(state.Version, key, n)
	}
	return n, err
}

func (t *totals) get(version int64, key totalKey) (int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version != version {
		return 0, false
	}
	n, ok := t.known[key]
	return n, ok
}

func (t *totals) put(version int64, key totalKey, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version > version {
		return
	}
	if t.version < version || t.known == nil || len(t.known) >= maxTotals {
		t.version, t.known = version, make(map[totalKey]int)
	}
	t.known[key] = n
}
