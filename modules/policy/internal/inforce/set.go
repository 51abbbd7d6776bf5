package inforce

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/tx"
)

// File is the file that is the only source of policies.
type File interface {
	// Enabled returns the enabled policies by name, with a number that changes with them.
	Enabled() ([]policy.Policy, int64)
}

// Set holds the enabled policies. It is safe for concurrent use.
type Set struct {
	store policy.Store
	file  File // nil if the store is the source
	kept  atomic.Pointer[kept]
}

// kept are the policies of a version that was committed.
type kept struct {
	list    []policy.Policy
	version int64
}

// New returns the policies of a store, or of a file if that is not nil.
func New(s policy.Store, f File) *Set { return &Set{store: s, file: f} }

// Current returns the enabled policies by name and their version, for the unit of ctx. It usually reads nothing, so
// they may have been replaced: a unit that decides by them calls Recheck with the version. The caller does not change
// the list.
func (s *Set) Current(ctx context.Context) ([]policy.Policy, int64, error) {
	if s.file != nil {
		list, version := s.file.Enabled()
		return list, version, nil
	}
	if k := s.kept.Load(); k != nil {
		return k.list, k.version, nil
	}
	list, version, err := s.store.Enabled(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read the policies in force: %w", err)
	}
	// A unit may see changes that are not committed yet, and that another unit then makes differently.
	tx.OnCommit(ctx, func() { s.keep(&kept{list, version}) })
	return list, version, nil
}

// keep replaces an older version.
func (s *Set) keep(k *kept) {
	for {
		was := s.kept.Load()
		if was != nil && was.version >= k.version || s.kept.CompareAndSwap(was, k) {
			return
		}
	}
}

// Forget has the next unit read the policies again.
func (s *Set) Forget() { s.kept.Store(nil) }

// checked is the key of the versions that units which share a commit have decided by.
type checked struct{ by *Set }

// Recheck fails the unit of ctx with PoliciesChanged if the policies of a version are not in force when it commits. The
// unit has to record an entry: every change of a policy records one too, and the check holds the lock of the trail. So
// a change either commits before the check, which finds it, or after the unit.
func (s *Set) Recheck(ctx context.Context, version int64) error {
	return tx.BeforeCommit(ctx, tx.Locked, checked{s}, version, s.recheck)
}

func (s *Set) recheck(ctx context.Context, versions []int64) error {
	now, err := s.version(ctx)
	if err != nil {
		return fmt.Errorf("check the policies in force: %w", err)
	}
	for _, v := range versions {
		if v == now {
			continue
		}
		if k := s.kept.Load(); k != nil && k.version != now {
			s.kept.CompareAndSwap(k, nil)
		}
		return policy.PoliciesChanged.New("the policies were changed meanwhile")
	}
	return nil
}

func (s *Set) version(ctx context.Context) (int64, error) {
	if s.file != nil {
		_, version := s.file.Enabled()
		return version, nil
	}
	return s.store.Version(ctx)
}

// Read returns the enabled policies by name with a tag of their content. It never returns ones that were replaced
// before the call.
func (s *Set) Read(ctx context.Context) (list []policy.Policy, tag string, err error) {
	if s.file != nil {
		list, _ = s.file.Enabled()
	} else if list, _, err = s.store.Enabled(ctx); err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, "", fmt.Errorf("sum up the policies in force: %w", err)
	}
	sum := sha256.Sum256(text)
	return list, hex.EncodeToString(sum[:16]), nil
}
