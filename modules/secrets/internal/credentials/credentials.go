package credentials

import (
	"context"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// Credentials manages credentials.
type Credentials struct {
	object.Protected[secrets.Credential, secrets.Filter]
	store   secrets.Store
	types   secrets.TypeStore
	vault   vault
	engines map[string]extension.Engine
}

var _ secrets.Credentials = (*Credentials)(nil)

// NewCredentials returns the service for credentials.
func NewCredentials(k object.Kernel, p *object.Permissions, s secrets.Store, t secrets.TypeStore, sealer secrets.Sealer,
	keys secrets.KeyReader,
	engines map[string]extension.Engine,
) *Credentials {
	return &Credentials{
		Protected: object.Protect(k, p, s.CredentialByID, s.ListCredentials, s.DeleteCredential),
		store:     s, types: t, vault: vault{sealer, keys}, engines: engines,
	}
}

func (k *Credentials) Create(
	ctx context.Context, c secrets.Change,
) (out secrets.Credential, w []secrets.Warning, err error) {
	err = k.Retry(ctx, 0, func() error {
		s, err := parseInput(k.engines, c)
		if err != nil {
			return err
		}
		if err := k.CheckOrgs(ctx, identity.KindCredential, s.now.Org); err != nil {
			return err
		}
		t, err := k.typeOf(ctx, &s)
		if err != nil {
			return err
		}
		k.Created(ctx, ids.Credential, &s.now.Record)
		sealed, err := k.vault.renew(ctx, &s, t, stored{})
		if err != nil {
			return err
		}
		out, w = s.now, s.warnings(s.now)
		return k.save(ctx, "credential created", &s, t, func(ctx context.Context) error {
			if err := k.store.InsertCredential(ctx, s.now, sealed); err != nil {
				return err
			}
			return k.Recorder.Record(ctx, s.entry(audit.CredentialCreate, s.now))
		})
	})
	if err != nil {
		return secrets.Credential{}, nil, err
	}
	return out, w, nil
}

// entry returns the audit entry of a change: the names of the supplied members, and no value.
func (s *input) entry(a audit.Action, c secrets.Credential) audit.Entry {
	d := object.Detail{"has_secret": c.HasSecret}
	d.Set("kind", string(c.Kind)).Set("type_id", c.TypeID).List("settings", names(c.Settings)).
		List("fields", names(c.Fields))
	if d.List("secret", names(s.secret)); c.Source != nil {
		d.Set("engine", c.Source.Engine).List("config", names(c.Source.Config)).List("config_secret", names(s.source.Secret))
	}
	return object.Entry(a, c.Record, d)
}

// typeOf returns the custom type in the input, and thereby validates it; the zero value for a built-in kind.
func (k *Credentials) typeOf(ctx context.Context, s *input) (t secrets.Type, err error) {
	if s.now.TypeID == "" {
		return t, nil
	}
	t, err = k.types.TypeByID(ctx, s.now.TypeID)
	if err != nil {
		return t, unknownType(s.now.TypeID, err)
	}
	return t, s.of(t)
}

func unknownType(id string, err error) error {
	if secrets.TypeNotFound.Is(err) {
		return naming("type_id", secrets.TypeNotFound.New("no type of credentials %q", id))
	}
	return err
}

// save stores a credential in one unit and locks the type with which it was validated. If the type has changed, the
// credential is validated again.
func (k *Credentials) save(
	ctx context.Context, message string, s *input, t secrets.Type, store func(ctx context.Context) error,
) error {
	return k.Store(ctx, message, s.now.Record, func(ctx context.Context) error {
		if t.ID != "" {
			now, err := k.types.LockType(ctx, t.ID)
			if err != nil {
				return unknownType(t.ID, err)
			}
			if now.Revision != t.Revision {
				return object.RevisionChanged.New("the type of the credential was changed meanwhile")
			}
		}
		return store(ctx)
	})
}

func (k *Credentials) Update(
	ctx context.Context, id string, revision int64, c secrets.Change,
) (out secrets.Credential, w []secrets.Warning, err error) {
	err = k.Retry(ctx, 0, func() error {
		out, w, err = k.update(ctx, id, revision, c)
		return err
	})
	if err != nil {
		return secrets.Credential{}, nil, k.Explain(ctx, err)
	}
	return out, w, nil
}

// update stores the change only if the revision is still the validated one.
func (k *Credentials) update(ctx context.Context, id string, revision int64, c secrets.Change,
) (out secrets.Credential, w []secrets.Warning, err error) {
	s, err := parseInput(k.engines, c)
	if err != nil {
		return out, nil, err
	}
	was := stored{}
	if was.Credential, was.sealed, err = k.store.SealedByID(ctx, id); err != nil {
		return out, nil, err
	}
	if err := k.CheckChange(ctx, was.Record, s.now.Org); err != nil {
		return out, nil, err
	}
	if err := object.CheckRevision(revision, was.Record); err != nil {
		return out, nil, err
	}
	t, err := k.typeOf(ctx, &s)
	if err != nil {
		return out, nil, err
	}
	k.Updated(was.Record, &s.now.Record)
	sealed, err := k.vault.renew(ctx, &s, t, was)
	if err != nil {
		return out, nil, err
	}
	err = k.save(ctx, "credential changed", &s, t, func(ctx context.Context) error {
		if err := k.another(ctx, was.Credential, s.now); err != nil {
			return err
		}
		if out, err = k.store.UpdateCredential(ctx, s.now, sealed, was.Revision); err != nil {
			return err
		}
		return k.Recorder.Record(ctx, s.entry(audit.CredentialUpdate, out))
	})
	return out, s.warnings(out), err
}

// another refuses, in the open unit, to change the kind of a credential that something references. It hides the
// credential to find all references, and restores it.
func (k *Credentials) another(ctx context.Context, was, now secrets.Credential) error {
	if was.Kind == now.Kind && was.TypeID == now.TypeID {
		return nil
	}
	if err := k.Objects.Remove(ctx, now.ID); err != nil {
		return err
	}
	if err := k.CheckUnused(ctx, now.ID); err != nil {
		return err
	}
	return k.Objects.Put(ctx, identity.Object{ID: now.ID, Org: now.Org})
}

// A lost key does not prevent it.
func (k *Credentials) Delete(ctx context.Context, id string, revision int64) error {
	return k.Remove(ctx, id, revision, func(c secrets.Credential) audit.Entry {
		e := object.Deleted(audit.CredentialDelete, c.Record)
		object.Detail(e.Detail).Set("kind", string(c.Kind)).Set("type_id", c.TypeID)
		return e
	})
}
