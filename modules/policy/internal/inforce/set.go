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

// Set holds the enabled policies and windows. It is safe for concurrent use.
type Set struct {
	store   policy.Store
	windows policy.WindowStore
	file    File // nil if the store is the source of policies
	kept    atomic.Pointer[Rules]
}

// Rules are the enabled policies and windows by name. They are not changed once they are made.
type Rules struct {
	Policies []policy.Policy
	Windows  []policy.Window
	// WindowsVersion counts the changes of windows.
	WindowsVersion int64
	version        version
}

// version counts the changes of the store, and those of the file if there is one.
type version struct{ store, file int64 }

// New returns the rules of two stores. If f is not nil, it has the policies.
func New(s policy.Store, w policy.WindowStore, f File) *Set {
	return &Set{store: s, windows: w, file: f}
}

// Current returns the rules for the unit of ctx. It usually reads nothing, so they may have been replaced: a unit that
// decides by them calls Recheck with them.
func (s *Set) Current(ctx context.Context) (*Rules, error) {
	k := s.kept.Load()
	if k != nil && (s.file == nil || k.version.file == s.fileVersion()) {
		return k, nil
	}
	return s.read(ctx)
}

// Fresh returns the rules that are committed.
func (s *Set) Fresh(ctx context.Context) (*Rules, error) {
	now, err := s.version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the version of the rules: %w", err)
	}
	if k := s.kept.Load(); k != nil && k.version == now {
		return k, nil
	}
	return s.read(ctx)
}

// read reads the version of the store first, so that nothing is older.
func (s *Set) read(ctx context.Context) (*Rules, error) {
	out, err := &Rules{}, error(nil)
	if out.Policies, out.version.store, err = s.store.Enabled(ctx); err != nil {
		return nil, fmt.Errorf("read the policies in force: %w", err)
	}
	if s.file != nil {
		out.Policies, out.version.file = s.file.Enabled()
	}
	if out.Windows, out.WindowsVersion, err = s.windows.Enabled(ctx); err != nil {
		return nil, fmt.Errorf("read the windows in force: %w", err)
	}
	// A unit may see changes that are not committed yet, and that another unit then makes differently.
	tx.OnCommit(ctx, func() { s.keep(out) })
	return out, nil
}

// keep replaces an older version.
func (s *Set) keep(k *Rules) {
	for {
		was := s.kept.Load()
		if was != nil && was.version.store >= k.version.store && was.version.file >= k.version.file ||
			s.kept.CompareAndSwap(was, k) {
			return
		}
	}
}

// Forget has the next unit read the rules again.
func (s *Set) Forget() { s.kept.Store(nil) }

// checked is the key of the versions that units which share a commit have decided by.
type checked struct{ by *Set }

// Recheck fails the unit of ctx with PoliciesChanged if other rules are in force when it commits. The unit has to
// record an entry: every change of a policy or a window records one too, and the check holds the lock of the trail. So
// a change either commits before the check, which finds it, or after the unit.
func (s *Set) Recheck(ctx context.Context, r *Rules) error {
	return tx.BeforeCommit(ctx, tx.Locked, checked{s}, r.version, s.recheck)
}

func (s *Set) recheck(ctx context.Context, versions []version) error {
	now, err := s.version(ctx)
	if err != nil {
		return fmt.Errorf("check the policies and windows in force: %w", err)
	}
	for _, v := range versions {
		if v == now {
			continue
		}
		if k := s.kept.Load(); k != nil && k.version != now {
			s.kept.CompareAndSwap(k, nil)
		}
		return policy.PoliciesChanged.New("the policies or windows were changed meanwhile")
	}
	return nil
}

func (s *Set) version(ctx context.Context) (v version, err error) {
	v.store, err = s.store.Version(ctx)
	if s.file != nil {
		v.file = s.fileVersion()
	}
	return v, err
}

func (s *Set) fileVersion() int64 {
	_, n := s.file.Enabled()
	return n
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
