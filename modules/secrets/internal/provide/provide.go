package provide

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/secrets/internal/envelope"
	"github.com/writ-automation/writ/modules/secrets/internal/inject"
	"github.com/writ-automation/writ/modules/secrets/internal/lease"
	"github.com/writ-automation/writ/modules/secrets/internal/references"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

// Params are the dependencies of a provider.
type Params struct {
	Store   secrets.Store
	Types   secrets.TypeStore
	Sealer  secrets.Sealer
	Keys    secrets.KeyReader
	Engines map[string]extension.Engine
	Ledger  *lease.Ledger
	Calls   *lease.Calls
}

// Provider implements secrets.Provider. It is safe for concurrent use.
type Provider struct{ Params }

var _ secrets.Provider = (*Provider)(nil)

// New returns a provider.
func New(p Params) *Provider { return &Provider{p} }

func (p *Provider) Provide(ctx context.Context, o secrets.Owner, credentials []string) (secrets.Injection, error) {
	opened, injection, tracked, err := p.Fetch(ctx, o, credentials, nil)
	if err != nil {
		return secrets.Injection{}, err
	}
	injection.Versions = make(map[string]int64, len(opened))
	for _, c := range opened {
		injection.Versions[c.Credential.ID] = c.Version()
	}
	p.Ledger.Track(o, tracked)
	return injection, nil
}

func (p *Provider) Warnings(o secrets.Owner) []string { return p.Ledger.Warnings(o) }

func (p *Provider) Release(ctx context.Context, o secrets.Owner) { p.Ledger.Release(ctx, o) }

// Fetch is like Provide, and also returns the minted entries and the opened credentials. If fits is not nil, it may
// refuse a credential before any engine is called.
func (p *Provider) Fetch(
	ctx context.Context, o secrets.Owner, credentials []string, fits func(secrets.Credential) error,
) ([]inject.Opened, secrets.Injection, []*lease.Entry, error) {
	list, err := p.open(ctx, credentials, fits)
	if err != nil {
		return nil, secrets.Injection{}, nil, err
	}
	tracked, err := p.ask(ctx, o, list)
	if err != nil {
		return nil, secrets.Injection{}, nil, err // minted secrets are already revoked
	}
	opened, injection, err := p.inject(list)
	if err != nil {
		p.Ledger.Revoke(context.WithoutCancel(ctx), tracked)
		return nil, secrets.Injection{}, nil, err
	}
	return opened, injection, tracked, nil
}

// unsealed is a credential with its opened document.
type unsealed struct {
	inject.Opened
	document envelope.Document
}

// open reads and validates credentials, each once.
func (p *Provider) open(ctx context.Context, ids []string, fits func(secrets.Credential) error) ([]*unsealed, error) {
	var out []*unsealed
	var all []secrets.Credential
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		u, err := p.openOne(ctx, id, fits)
		if err != nil {
			return nil, err
		}
		out, all = append(out, u), append(all, u.Credential)
	}
	return out, references.Compatible(all)
}

func (p *Provider) openOne(ctx context.Context, id string, fits func(secrets.Credential) error) (*unsealed, error) {
	c, sealed, err := p.Store.SealedByID(ctx, id)
	if secrets.CredentialNotFound.Is(err) {
		return nil, secrets.CredentialNotFound.New("no credential %q", id)
	}
	if err != nil {
		return nil, fmt.Errorf("read the credential %s: %w", id, err)
	}
	if fits != nil {
		if err := fits(c); err != nil {
			return nil, err
		}
	}
	if err := references.Ready(c); err != nil {
		return nil, err
	}
	u := &unsealed{Opened: inject.Opened{Credential: c}}
	if u.document, err = references.Open(ctx, p.Sealer, c, sealed); err != nil {
		return nil, err
	}
	if c.Kind == secrets.Custom {
		if u.Type, err = p.Types.TypeByID(ctx, c.TypeID); err != nil {
			return nil, fmt.Errorf("read the type of the credential %s: %w", id, err)
		}
	}
	u.Secret = u.document.Secret
	if c.Source == nil {
		if name := lacks(u.Opened); name != "" {
			return nil, secrets.SecretMissing.New("the credential %s has no secret yet: %s is missing", id, name)
		}
	}
	return u, nil
}

// inject merges what the credentials add, once every secret is present.
func (p *Provider) inject(list []*unsealed) ([]inject.Opened, secrets.Injection, error) {
	opened := make([]inject.Opened, 0, len(list))
	parts := make([]inject.Part, 0, len(list))
	for _, u := range list {
		injection, err := inject.Of(u.Opened, p.Keys)
		if err != nil {
			return nil, secrets.Injection{}, unusable(u.Credential, err)
		}
		opened = append(opened, u.Opened)
		parts = append(parts, inject.Part{ID: u.ID, Injection: injection})
	}
	injection, err := inject.Merge(parts)
	return opened, injection, err
}

// unusable returns the fault of a secret that cannot be used.
func unusable(c secrets.Credential, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return fmt.Errorf("use the credential %s: %w", c.ID, f)
	}
	if c.Source != nil {
		return unresolved(c, "gave nothing that can be used: "+err.Error())
	}
	return secrets.Unresolved.New("the credential %s: its secret cannot be used: %s", c.ID, err)
}

// unresolved returns the fault of a source. The text continues a sentence after the engine's name.
func unresolved(c secrets.Credential, text string) error {
	return secrets.Unresolved.New("the credential %s: its engine %s %s", c.ID, c.Source.Engine, text)
}
