package credentials_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
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

// opens returns the number of opened texts since the last call.
func (s *sealer) opens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.opened
	s.opened = 0
	return n
}

// guard is a fake that decides by tables.
type guard struct {
	mu     sync.Mutex
	base   access.Level            // of objects without a level of their own
	levels map[string]access.Level // by object
	orgs   map[string]bool         // by organization, empty for none; nil: everything
	admin  bool                    // may create, and read objects without grants
	fails  error
}

func newGuard() *guard { return &guard{base: access.Manage, admin: true} }

// become sets the caller's level on everything, and other levels on some objects.
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

// requests contains the runs that have not ended, by the objects that they reference.
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
