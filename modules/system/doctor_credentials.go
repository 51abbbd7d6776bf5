package system

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
)

// CredentialCheck reports credentials whose secret cannot be opened, and secrets that are sealed under old keys.
type CredentialCheck struct{ p CredentialParams }

var _ system.Check = (*CredentialCheck)(nil)

// CredentialParams are the dependencies of CredentialCheck. SealedStores may be empty; everything else is required.
type CredentialParams struct {
	Credentials secrets.Store
	Sealer      secrets.Sealer
	// SealedStores are the tables with sealed texts.
	SealedStores []secrets.SealedStore
	// HasEngine reports whether this process has the engine of a name.
	HasEngine func(engine string) bool
	// KeyID returns the id of the current sealing key, empty if there is none, and KeyOf the id of the key that sealed
	// a text.
	KeyID func() string
	KeyOf func(sealed []byte) (string, error)
}

// NewCredentialCheck creates the check.
func NewCredentialCheck(p CredentialParams) *CredentialCheck {
	return &CredentialCheck{p: p}
}

func (*CredentialCheck) Name() string { return "credentials" }

// Examine reads at most 10,000 credentials, and as many sealed texts of each store. It sends no request to an engine.
func (c *CredentialCheck) Examine(ctx context.Context) (system.Examination, error) {
	l := &credentialExamination{CredentialParams: c.p}
	list := func(w page.Window) ([]secrets.Credential, int, error) {
		return l.Credentials.ListCredentials(ctx, access.Everything(), secrets.Filter{}, w)
	}
	err := each(ctx, &l.survey, "credentials", list, func(k secrets.Credential) error { return l.credential(ctx, k) })
	if err != nil {
		return l.result(err)
	}
	current := l.KeyID()
	for _, h := range l.SealedStores {
		if current == "" {
			break // the expected key is unknown; texts that cannot be opened are reported one by one
		}
		if err := l.sealedStore(ctx, h, current); err != nil {
			return l.result(err)
		}
	}
	return l.result(nil)
}

// credentialExamination is one examination.
type credentialExamination struct {
	CredentialParams
	survey
}

func (l *credentialExamination) credential(ctx context.Context, k secrets.Credential) error {
	f := system.Finding{Severity: system.Warning, Object: subject(k.Record), Link: "/v1/credentials/" + k.ID}
	if !k.HasSecret {
		f.Problem = "the credential has no secret, so that no run can have it"
		f.Fix = "give it its secret, or delete it"
		l.add(f)
	}
	f.Severity = system.Error
	if k.Source != nil && !l.HasEngine(k.Source.Engine) {
		f.Problem = fmt.Sprintf("its secret comes from the engine %s, which this server does not have", clip(k.Source.Engine))
		f.Fix = "start the server with the extension that has the engine, or name another source"
		l.add(f)
	}
	return l.opens(ctx, f, k.ID)
}

// opens reports a credential whose sealed text cannot be opened. A credential that was deleted meanwhile is skipped.
func (l *credentialExamination) opens(ctx context.Context, f system.Finding, id string) error {
	k, sealed, err := l.Credentials.SealedByID(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return l.skip(ctx, fmt.Errorf("read the credential %s: %w", id, err))
	}
	if len(sealed) == 0 {
		return nil
	}
	text, err := l.Sealer.Open(ctx, secrets.CredentialRecord(id, k.SecretVersion), sealed)
	clear(text)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || fault.Is(err, fault.Unavailable):
		return l.skip(ctx, fmt.Errorf("open the credential %s: %w", id, err))
	case secrets.KeyLost.Is(err):
		f.Problem = "the key that sealed the secret of the credential is missing"
		f.Fix = "restore the encryption key, or enter the secret of the credential again"
	default:
		f.Problem = "the sealed secret of the credential was altered, or belongs to another object"
		f.Fix = "enter the secret of the credential again, and find out who changes the database"
	}
	l.add(f)
	return nil
}

// sealedStore counts the texts that are sealed under another key than the current one, and those without a key id.
func (l *credentialExamination) sealedStore(ctx context.Context, h secrets.SealedStore, current string) error {
	seen, other, odd := 0, 0, 0
	for after := ""; seen < maxObjects; {
		list, err := h.ListSealed(ctx, after, pageRows)
		if err != nil {
			return fmt.Errorf("list sealed %s: %w", h.Name(), err)
		}
		for _, s := range list {
			switch id, err := l.KeyOf(s.Text); {
			case err != nil:
				odd++
			case id != current:
				other++
			}
			after = s.Key
		}
		seen += len(list)
		if len(list) < pageRows {
			break
		}
	}
	if other > 0 {
		l.add(system.Finding{
			Severity: system.Notice, Problem: fmt.Sprintf("%d of %d sealed %s use another key than the current one",
				other, seen, h.Name()),
			Fix: "rewrap them with the current key by writ audit key rewrap, and keep the other keys until then",
		})
	}
	if odd > 0 {
		l.add(system.Finding{
			Severity: system.Error, Problem: fmt.Sprintf("%d of %d sealed %s have a format that this server cannot read", odd,
				seen, h.Name()),
			Fix: "restore them from a backup, or enter their values again",
		})
	}
	return nil
}
