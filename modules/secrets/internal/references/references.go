package references

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/secrets/internal/envelope"
	"github.com/writ-automation/writ/modules/secrets/internal/inject"
	"github.com/writ-automation/writ/modules/secrets/internal/lease"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// References implements secrets.References.
type References struct {
	store  secrets.Store
	types  secrets.TypeStore
	sealer secrets.Sealer
}

var _ secrets.References = (*References)(nil)

// New returns references to the credentials of a store.
func New(s secrets.Store, t secrets.TypeStore, sealer secrets.Sealer) *References {
	return &References{store: s, types: t, sealer: sealer}
}

func (r *References) Exists(ctx context.Context, id string) (bool, error) {
	_, err := r.store.CredentialByID(ctx, id)
	if secrets.CredentialNotFound.Is(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read a credential: %w", err)
	}
	return true, nil
}

func (r *References) Versions(ctx context.Context, credentials []string) (map[string]int64, error) {
	out := make(map[string]int64, len(credentials))
	for _, id := range credentials {
		c, err := r.store.CredentialByID(ctx, id)
		if secrets.CredentialNotFound.Is(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a credential: %w", err)
		}
		o := inject.Opened{Credential: c}
		if o.Type, err = r.typeOf(ctx, c); err != nil {
			return nil, err
		}
		out[id] = o.Version()
	}
	return out, nil
}

// A credential that is listed twice counts once.
func (r *References) Validate(ctx context.Context, credentials []string) error {
	var list []secrets.Credential
	err := r.each(ctx, credentials, func(c secrets.Credential, _ envelope.Document) error {
		list = append(list, c)
		return Ready(c)
	})
	if err != nil {
		return err
	}
	return Compatible(list)
}

// The secrets of an engine's config are among them.
func (r *References) Stored(ctx context.Context, credentials []string) ([]secret.Text, error) {
	var out []secret.Text
	err := r.each(ctx, credentials, func(c secrets.Credential, d envelope.Document) (err error) {
		o := inject.Opened{Credential: c, Secret: d.Secret}
		if o.Type, err = r.typeOf(ctx, c); err != nil {
			return err
		}
		out = append(out, inject.Secrets(o)...)
		for _, text := range lease.Texts(d.Source) {
			out = append(out, secret.Text(text))
		}
		return nil
	})
	return out, err
}

// typeOf returns the type of a credential of a custom one.
func (r *References) typeOf(ctx context.Context, c secrets.Credential) (t secrets.Type, err error) {
	if c.Kind != secrets.Custom {
		return t, nil
	}
	if t, err = r.types.TypeByID(ctx, c.TypeID); err != nil {
		return t, fmt.Errorf("read the type of the credential %s: %w", c.ID, err)
	}
	return t, nil
}

// each opens credentials, each once.
func (r *References) each(
	ctx context.Context, credentials []string, fn func(secrets.Credential, envelope.Document) error,
) error {
	for i, id := range credentials {
		if slices.Contains(credentials[:i], id) {
			continue
		}
		c, sealed, err := r.store.SealedByID(ctx, id)
		if secrets.CredentialNotFound.Is(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read a credential: %w", err)
		}
		d, err := Open(ctx, r.sealer, c, sealed)
		if err == nil {
			err = fn(c, d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Ready returns SecretMissing for a credential that no run can use yet.
func Ready(c secrets.Credential) error {
	if c.HasSecret || c.Source != nil {
		return nil
	}
	return secrets.SecretMissing.New("the credential %s has no secret yet", c.ID)
}

// Open opens the sealed part of a credential. Its faults name the credential and contain nothing of the content:
// KeyLost, Unresolved for an altered one, and others.
func Open(ctx context.Context, sealer secrets.Sealer, c secrets.Credential, sealed []byte) (envelope.Document, error) {
	if len(sealed) == 0 {
		return envelope.Document{}, nil
	}
	plain, err := sealer.Open(ctx, secrets.CredentialRecord(c.ID, c.SecretVersion), sealed)
	if secrets.KeyLost.Is(err) {
		f, _ := errors.AsType[*fault.Error](err)
		return envelope.Document{}, secrets.KeyLost.New("the credential %s cannot be opened: %s", c.ID, f.Message)
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Internal {
		return envelope.Document{}, secrets.Unresolved.New("the credential %s cannot be opened: %s", c.ID, f.Message).
			Because(err)
	}
	if err != nil {
		return envelope.Document{}, fmt.Errorf("open the credential %s: %w", c.ID, err)
	}
	defer clear(plain)
	doc, err := envelope.Decode(plain)
	if err != nil {
		return envelope.Document{}, fmt.Errorf("open the credential %s: %w", c.ID, err)
	}
	return doc, nil
}

// Compatible returns Clash, which names two credentials that no run can use together: two of one kind, except for vault
// passwords with different vault ids and custom credentials of different types; and a become credential together with
// one that contains a become password.
func Compatible(list []secrets.Credential) error {
	first := map[string]string{}
	for _, c := range list {
		place := place(c)
		if other, taken := first[place]; taken && other != c.ID {
			return secrets.Clash.New("the credentials %s and %s cannot be used together: both are %s", other, c.ID, place)
		}
		first[place] = c.ID
	}
	return nil
}

// place returns the purpose for which a run can have only one credential.
func place(c secrets.Credential) string {
	switch c.Kind {
	case secrets.VaultPassword:
		id, _ := c.Settings["vault_id"].(string)
		id = cmp.Or(id, inject.DefaultVault)
		return "vault passwords of the vault id " + id
	case secrets.Custom:
		return "of the type " + c.TypeID
	case secrets.Become, secrets.BecomePassword:
		return "for become"
	default:
		return "of the kind " + string(c.Kind)
	}
}
