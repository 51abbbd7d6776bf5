package relay_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

var window = page.Window{Limit: 100}

// canary is a secret that must be in no place but a grant.
const canary = "CANARYzQ8mJ4v7Xw2Lk9Rt5Nb3"

// vault opens every credential, or does with a call what the test says.
type vault struct {
	mu       sync.Mutex
	provide  func(ctx context.Context, o secrets.Owner, ids []string) error
	released []secrets.Owner
	warnings []string
}

func (v *vault) Provide(ctx context.Context, o secrets.Owner, ids []string) (secrets.Injection, error) {
	v.mu.Lock()
	fn := v.provide
	v.mu.Unlock()
	if fn != nil {
		if err := fn(ctx, o, ids); err != nil {
			return secrets.Injection{}, err
		}
	}
	return secrets.Injection{Env: map[string]secret.Text{"TOKEN": canary}, Hide: []secret.Text{canary}}, nil
}

func (v *vault) Warnings(secrets.Owner) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.warnings
}

func (v *vault) Release(_ context.Context, o secrets.Owner) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.released = append(v.released, o)
}

func (v *vault) does(fn func(ctx context.Context, o secrets.Owner, ids []string) error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.provide = fn
}

func (v *vault) let(o secrets.Owner) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Contains(v.released, o)
}

// gate lets every worker in, or answers as the test says.
type gate struct {
	mu            sync.Mutex
	claim, report error
}

func (g *gate) MayClaim(context.Context, string, []string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.claim
}

func (g *gate) MayReport(context.Context, runs.Lease) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.report
}

func (g *gate) refuses(claim, report error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.claim, g.report = claim, report
}

// box binds texts to records and turns each byte around.
type box struct {
	mu  sync.Mutex
	err error
}

func (b *box) fails(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *box) Seal(_ context.Context, record string, plain []byte) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]byte(record+"\n"), turned(plain)...), b.err
}

func (b *box) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	text, ok := bytes.CutPrefix(sealed, []byte(record+"\n"))
	if !ok {
		return nil, errors.New("sealed for another record")
	}
	return turned(text), nil
}

func turned(p []byte) []byte {
	out := bytes.Clone(p)
	for i := range out {
		out[i] ^= 0xff
	}
	return out
}

// fakeMaterials has one inventory and one project with installed requirements.
type fakeMaterials struct {
	err   error
	fresh atomic.Int32
	deps  catalog.Deps
	trees []string // where they were made
}

func (s *fakeMaterials) Inventory(
	_ context.Context, _ string, fresh bool,
) (catalog.InventoryText, []runs.Warning, error) {
	if fresh {
		s.fresh.Add(1)
	}
	stale := runs.Warning{Code: runs.WarnInventoryStale, Message: "it is the last good one"}
	text := catalog.InventoryText{Content: []byte("[web]\nw1\n"), Format: catalog.INI, KnownHosts: []byte("h1 key\n"),
		HostKeyPolicy: catalog.Strict}
	return text, []runs.Warning{stale}, s.err
}

func (s *fakeMaterials) Tree(_ context.Context, _, commit, dir string) (catalog.Deps, error) {
	if s.err != nil {
		return catalog.Deps{}, s.err
	}
	s.trees = append(s.trees, dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return catalog.Deps{}, err
	}
	return s.deps, os.WriteFile(filepath.Join(dir, "site.yml"), []byte(commit), 0o600)
}

// heads keeps what was shown.
type heads struct {
	mu       sync.Mutex
	newest   string
	err      error
	asked    int
	calls    [][]string
	validate func(notes []string) error
}

func (h *heads) Newest(context.Context) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	return h.newest, h.err
}

func (h *heads) Show(_ context.Context, _ string, notes []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, slices.Clone(notes))
	if h.validate != nil {
		return h.validate(notes)
	}
	return nil
}

func (h *heads) recorded() [][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}
