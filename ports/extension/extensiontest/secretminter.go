package extensiontest

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/extension"
)

// SecretMinter is the suite's input for a dynamic secret engine.
type SecretMinter struct {
	// Name is the engine's name in its leases.
	Name   string
	Minter extension.SecretMinter
	// Another makes the same engine as in another process; nil for an engine that is not an extension.LeaseRevoker.
	Another func(t *testing.T) extension.SecretMinter
	Configs SecretConfigs
	// Unusable are configs with which the engine mints an unusable secret, such as one that names a member which the
	// secret lacks.
	Unusable []map[string]any
	// Valid reports whether the target accepts a minted secret.
	Valid func(t *testing.T, value string) bool
	// Minted returns how many minted secrets are accepted in all.
	Minted func(t *testing.T) int
}

// Run tests the engine against the contract of extension.SecretMinter, and those of extension.LeaseRevoker,
// extension.ConfigDescriber and extension.ConfigValidator if it implements them. Nothing else may mint at the same
// time. An engine that is called with an ended context mints nothing.
func (s SecretMinter) Run(t *testing.T) {
	// The cases count minted secrets, so they do not run in parallel.
	for name, test := range map[string]func(*testing.T){
		"a secret for this run": s.mints, "revoked once": s.once, "many mint at a time": s.many,
		"nothing is left of a failure": s.unusable,
		"revoked by another process":   s.elsewhere, "what is gone": s.gone, "the time of a revocation": s.late,
	} {
		t.Run(name, test)
	}
	runAll(t, engineOf{configs: s.Configs, engine: s.Minter, ask: s.ask}.tests())
}

// ask mints as Resolve would. If a value comes with an error, the suite checks both.
func (s SecretMinter) ask(ctx context.Context, config map[string]any) (string, error) {
	value, lease, err := s.Minter.Mint(ctx, config)
	if err != nil && lease != nil {
		return value + "a lease", err
	}
	return value, err
}

func (s SecretMinter) mint(t *testing.T) (string, *extension.SecretLease) {
	t.Helper()
	value, lease, err := s.Minter.Mint(t.Context(), s.Configs.Good)
	if err != nil {
		t.Fatalf("nothing was minted: %v", err)
	}
	if !s.Valid(t, value) {
		t.Fatal("what was minted is not accepted")
	}
	if lease == nil || !lease.Revocable() || lease.Engine() != s.Name {
		t.Fatalf("the lease is %v", lease)
	}
	return value, lease
}

func (s SecretMinter) revoke(t *testing.T, leases ...*extension.SecretLease) {
	t.Helper()
	for _, l := range leases {
		if err := l.Revoke(t.Context()); err != nil {
			t.Errorf("a lease is not revoked: %v", err)
		}
	}
	if n := s.Minted(t); n != 0 {
		t.Errorf("%d secrets are still accepted", n)
	}
}

func (s SecretMinter) mints(t *testing.T) {
	before := maps.Clone(s.Configs.Good)
	first, one := s.mint(t)
	second, two := s.mint(t)
	if first == second || one.Handle() != "" && one.Handle() == two.Handle() {
		t.Error("two runs share a secret or a lease")
	}
	if !reflect.DeepEqual(before, s.Configs.Good) {
		t.Error("the engine changes the config that it is given")
	}
	if err := one.Revoke(t.Context()); err != nil || s.Valid(t, first) || !s.Valid(t, second) {
		t.Errorf("the wrong secret was revoked: %v", err)
	}
	s.revoke(t, two)
}

func (s SecretMinter) once(t *testing.T) {
	_, lease := s.mint(t)
	s.revoke(t, lease, lease)
}

func (s SecretMinter) many(t *testing.T) {
	var mu sync.Mutex
	var leases []*extension.SecretLease
	concurrently(8, func() {
		value, lease, err := s.Minter.Mint(t.Context(), s.Configs.Good)
		if err != nil || !s.Valid(t, value) {
			t.Errorf("nothing was minted: %v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		leases = append(leases, lease)
	})
	s.revoke(t, leases...)
}

func (s SecretMinter) unusable(t *testing.T) {
	for _, config := range s.Unusable {
		value, lease, err := s.Minter.Mint(t.Context(), config)
		if err == nil || value != "" || lease != nil {
			t.Errorf("%d bytes, a lease: %t, %v", len(value), lease != nil, err)
		}
		engineOf{configs: s.Configs, engine: s.Minter}.silent(t, err)
	}
	if n := s.Minted(t); n != 0 {
		t.Errorf("%d secrets are accepted and nobody has them", n)
	}
}

// elsewhere revokes by the handle alone, twice, as a process does that has no result of another one's attempt.
func (s SecretMinter) elsewhere(t *testing.T) {
	if s.Another == nil {
		if _, ok := s.Minter.(extension.LeaseRevoker); ok {
			t.Error("the engine revokes for others and no other one is given")
		}
		return
	}
	_, lease := s.mint(t)
	if lease.Handle() == "" {
		t.Fatal("a lease without a handle is lost with its process")
	}
	for range 2 {
		if err := s.Another(t).(extension.LeaseRevoker).RevokeLease(t.Context(), s.Configs.Good, lease.Handle()); err != nil {
			t.Errorf("another process does not revoke it: %v", err)
		}
	}
	s.revoke(t, lease)
}

func (s SecretMinter) gone(t *testing.T) {
	r, ok := s.Minter.(extension.LeaseRevoker)
	if !ok {
		return
	}
	_, lease := s.mint(t)
	s.revoke(t, lease)
	if err := r.RevokeLease(t.Context(), s.Configs.Good, lease.Handle()); err != nil {
		t.Errorf("revoking what is gone: %v", err)
	}
}

// late revokes with an ended context: it succeeds, or fails and can be repeated.
func (s SecretMinter) late(t *testing.T) {
	_, lease := s.mint(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err := lease.Revoke(ended)
	if err == nil && s.Minted(t) != 0 {
		t.Error("a revocation without time says that it worked, and did not")
	}
	engineOf{configs: s.Configs, engine: s.Minter}.silent(t, err)
	s.revoke(t, lease)
}
