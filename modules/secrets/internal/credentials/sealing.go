package credentials

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-automation/writ/modules/secrets/internal/check"
	"github.com/writ-automation/writ/modules/secrets/internal/envelope"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

// vault seals the secrets of credentials.
type vault struct {
	sealer secrets.Sealer
	keys   secrets.KeyReader
}

// stored is the previous state of a credential with its sealed secrets. The zero value is a new credential.
type stored struct {
	secrets.Credential
	sealed []byte
}

// renew updates what depends on the secrets of a credential, and returns them sealed. Secrets that do not change are
// returned unopened. Otherwise the stored ones are opened if some of them are retained.
func (v *vault) renew(ctx context.Context, s *input, t secrets.Type, was stored) ([]byte, error) {
	same := was.ID != "" && was.Kind == s.now.Kind && was.TypeID == s.now.TypeID
	s.now.SecretVersion = was.SecretVersion
	if same && len(s.secret) == 0 && s.source.Same(was.Source) {
		s.now.HasSecret = was.HasSecret
		return was.sealed, nil
	}
	old, err := v.openStored(ctx, s, t, was, same)
	if err != nil {
		return nil, err
	}
	doc := envelope.Document{Secret: secrets.Values{}}
	if same {
		for _, name := range s.secretNames(t) {
			if text, ok := old.Secret[name]; ok {
				doc.Secret[name] = text
			}
		}
	}
	maps.Copy(doc.Secret, s.secret)
	doc.Secret = check.Stored(s.now.Kind, doc.Secret)
	if err := v.key(s.now.Kind, doc.Secret); err != nil {
		return nil, err
	}
	if doc.Source, err = s.source.Join(was.Source, old.Source); err != nil {
		return nil, err
	}
	s.now.HasSecret = s.complete(t, doc.Secret)
	if doc.Empty() && was.sealed == nil {
		return nil, nil
	}
	s.now.SecretVersion++
	return v.seal(ctx, s.now, doc)
}

// openStored opens the stored secrets if some of them are retained. Secrets of another kind are not.
func (v *vault) openStored(
	ctx context.Context, s *input, t secrets.Type, was stored, same bool,
) (envelope.Document, error) {
	provided := func(name string) bool { _, ok := s.secret[name]; return ok }
	silent := slices.ContainsFunc(s.secretNames(t), func(name string) bool { return !provided(name) })
	if was.sealed == nil || !(same && silent) && !s.source.RetainsSecrets(was.Source) {
		return envelope.Document{}, nil
	}
	plain, err := v.sealer.Open(ctx, secrets.CredentialRecord(was.ID, was.SecretVersion), was.sealed)
	if secrets.KeyLost.Is(err) {
		return envelope.Document{},
			secrets.KeyLost.New("the secrets of the credential %q (%s) are sealed with a key that this install does not have: "+
				"give every secret of it anew, an empty one where there is none", was.Name, was.ID).With("credential_id", was.ID).
				Because(err)
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Internal {
		return envelope.Document{},
			secrets.Unresolved.New("the secrets of the credential %q (%s) were altered and cannot be kept: "+
				"give every secret of it anew, an empty one where there is none", was.Name, was.ID).With("credential_id", was.ID).
				Because(err)
	}
	if err != nil {
		return envelope.Document{}, fmt.Errorf("open the secrets of a credential: %w", err)
	}
	doc, err := envelope.Decode(plain)
	if err != nil {
		return envelope.Document{}, fmt.Errorf("read the secrets of the credential %s: %w", was.ID, err)
	}
	return doc, nil
}

// key refuses a private key that no run can use.
func (v *vault) key(kind secrets.Kind, values secrets.Values) error {
	private := values["private_key"]
	if kind != secrets.SSHKey || private == "" {
		return nil
	}
	_, err := v.keys.Unlock(private, values["passphrase"])
	var f *fault.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) == 0:
		return fmt.Errorf("read a private key: %w", err)
	default:
		return fault.BadField("secret."+f.Fields[0].Location, "%s", f.Fields[0].Message)
	}
}

func (v *vault) seal(ctx context.Context, c secrets.Credential, doc envelope.Document) ([]byte, error) {
	if doc.Empty() {
		return nil, nil
	}
	plain, err := envelope.Encode(doc)
	if err != nil {
		return nil, err
	}
	if len(plain) > check.MaxSecrets {
		return nil, fault.BadField("secret", "has more than %d bytes, together with what is stored", check.MaxSecrets)
	}
	sealed, err := v.sealer.Seal(ctx, secrets.CredentialRecord(c.ID, c.SecretVersion), plain)
	if err != nil {
		return nil, fmt.Errorf("seal the secrets of a credential: %w", err)
	}
	return sealed, nil
}
