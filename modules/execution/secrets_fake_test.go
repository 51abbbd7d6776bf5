package execution_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// vault provides every run with the same secrets, and records the owners of all requests and releases.
type vault struct {
	in      secrets.Injection
	provide func(ctx context.Context) error // before the answer
	release func(ctx context.Context)

	mu       sync.Mutex
	asked    []secrets.Owner
	wanted   []string
	released []secrets.Owner
	warnings []string
}

var _ secrets.Provider = (*vault)(nil)

func (v *vault) Provide(ctx context.Context, o secrets.Owner, ids []string) (secrets.Injection, error) {
	v.mu.Lock()
	v.asked, v.wanted = append(v.asked, o), ids
	v.mu.Unlock()
	if v.provide != nil {
		if err := v.provide(ctx); err != nil {
			return secrets.Injection{}, err
		}
	}
	return v.in, nil
}

func (v *vault) Warnings(secrets.Owner) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.warnings
}

func (v *vault) Release(ctx context.Context, o secrets.Owner) {
	if v.release != nil {
		v.release(ctx)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.released = append(v.released, o)
}

// noRecords has no records to hide secrets in, and rights that never changed.
type noRecords struct{}

func (noRecords) HideSecrets(context.Context, string, []secret.Text) error { return nil }

func (noRecords) Seal(_ context.Context, _ string, plain []byte) ([]byte, error) { return plain, nil }

func (noRecords) RightsVersion(context.Context) (int64, error) { return 0, nil }

func (noRecords) Open(_ context.Context, _ string, sealed []byte) ([]byte, error) { return sealed, nil }

// owners returns the owners of requests and of releases.
func (v *vault) owners() (asked, released []secrets.Owner) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.asked), slices.Clone(v.released)
}

// agents start agents that are nothing but files.
type agents struct {
	mu    sync.Mutex
	open  int
	keys  []secrets.Key
	fails error
}

type fakeAgent struct {
	of     *agents
	socket string
}

func (a *agents) Start(dir string, _ *secrets.Client, keys []secrets.Key) (secrets.Agent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fails != nil {
		return nil, a.fails
	}
	a.open++
	a.keys = keys
	f := &fakeAgent{of: a, socket: filepath.Join(dir, "sock")}
	return f, errors.Join(os.WriteFile(f.socket, nil, 0o600),
		os.WriteFile(f.PublicKeys()[0], []byte("ssh-ed25519 AAAA"), 0o600))
}

func (a *agents) running() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
}

func (f *fakeAgent) Socket() string { return f.socket }
func (f *fakeAgent) PublicKeys() []string {
	return []string{filepath.Join(filepath.Dir(f.socket), "0.pub")}
}

func (f *fakeAgent) Close() error {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.open--
	return errors.Join(os.Remove(f.socket), os.Remove(f.PublicKeys()[0]))
}
