package credentials_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

type secretText = secret.Text

// sealer seals with one key, which can be lost, and counts what it opens.
type sealer struct {
	mu     sync.Mutex
	aead   cipher.AEAD
	lost   bool
	opened int
}

var _ secrets.Sealer = (*sealer)(nil)

func newSealer(t testing.TB) *sealer {
	t.Helper()
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return &sealer{aead: must[cipher.AEAD](t)(cipher.NewGCMWithRandomNonce(block))}
}

func (s *sealer) Seal(_ context.Context, record string, plain []byte) ([]byte, error) {
	return s.aead.Seal(nil, nil, plain, []byte(record)), nil
}

func (s *sealer) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return nil, secrets.KeyLost.New("the key is not at hand")
	}
	s.opened++
	plain, err := s.aead.Open(nil, nil, sealed, []byte(record))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "it was altered, or sealed for another record")
	}
	return plain, nil
}

func (s *sealer) lose(lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = lost
}

// opens returns how often something was opened since the last call.
func (s *sealer) opens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.opened
	s.opened = 0
	return n
}

// guard decides by a table.
type guard struct {
	mu     sync.Mutex
	base   access.Level            // of what has no level of its own
	levels map[string]access.Level // by object
	orgs   map[string]bool         // by organization, empty is none; nil: everything
	admin  bool                    // keeps and reads what carries no grants
	fails  error
}

func newGuard() *guard { return &guard{base: access.Manage, admin: true} }

// become makes the caller somebody with a level on everything, and other levels on some objects.
func (g *guard) become(base access.Level, levels map[string]access.Level, orgs ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.base, g.levels, g.admin, g.orgs = base, levels, false, map[string]bool{}
	for _, org := range orgs {
		g.orgs[org] = true
	}
}

func (g *guard) May(_ context.Context, want access.Level, list ...string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range list {
		level, ok := g.levels[o]
		if !ok {
			level = g.base
		}
		if !level.Covers(want) || identity.KindOf(o) == "" && !g.admin {
			return false, g.fails
		}
	}
	return true, g.fails
}

func (g *guard) MayWrite(_ context.Context, kind, org string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admin || g.orgs[org] && kind == identity.KindCredential, g.fails
}

func (g *guard) Scope(context.Context) (access.Scope, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return access.Scope{All: g.admin, Strict: g.base == access.None, Subjects: []string{"user:usr_1"}}, g.fails
}

// requests knows the runs that have not ended, by what they name.
type requests struct {
	mu   sync.Mutex
	live map[string][]string
}

func (*requests) Objects(context.Context, string) ([]string, error) { return nil, nil }

func (r *requests) Unfinished(_ context.Context, object string, limit int) ([]string, int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.live[object]
	return list[:min(limit, len(list))], len(list), nil
}

func (r *requests) run(object string, ids ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = map[string][]string{object: ids}
}

// trail records entries that commit, as the last part of their unit.
type trail struct {
	mu      sync.Mutex
	kept    []audit.Entry
	refuses error // what Record answers
	breaks  error // what the end of the unit answers
}

func (r *trail) Record(ctx context.Context, e audit.Entry) error {
	if !slices.Contains(audit.Actions(), e.Action) {
		return fmt.Errorf("%q is no action", e.Action)
	}
	if err := plain(e.Detail); err != nil {
		return err
	}
	refuses, _ := r.faults()
	if refuses != nil {
		return refuses
	}
	return tx.BeforeCommit(ctx, r, e, func(ctx context.Context, list []audit.Entry) error {
		if _, breaks := r.faults(); breaks != nil {
			return breaks
		}
		tx.OnCommit(ctx, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.kept = append(r.kept, list...)
		})
		return nil
	})
}

func (r *trail) faults() (refuses, breaks error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refuses, r.breaks
}

// fail makes what is recorded fail at once, or at the end of its unit.
func (r *trail) fail(refuses, breaks error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses, r.breaks = refuses, breaks
}

// take returns what was recorded since the last call.
func (r *trail) take() []audit.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.kept
	r.kept = nil
	return list
}

// plain refuses a detail that a chain cannot hold.
func plain(v any) error {
	switch v := v.(type) {
	case string, bool:
		return nil
	case int:
		if v < 0 {
			return errors.New("a number below zero")
		}
		return nil
	case []any:
		for _, x := range v {
			if err := plain(x); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for name, x := range v {
			if err := plain(x); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	default:
		return fmt.Errorf("%T is no value of a detail", v)
	}
}
