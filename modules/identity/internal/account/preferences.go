package account

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Preferences implements identity.OwnPreferences.
type Preferences struct {
	kernel.Kernel
	store identity.PreferenceStore
}

var _ identity.OwnPreferences = (*Preferences)(nil)

// NewPreferences makes a Preferences over the store.
func NewPreferences(k kernel.Kernel, s identity.PreferenceStore) *Preferences {
	return &Preferences{Kernel: k, store: s}
}

func (p *Preferences) Preferences(ctx context.Context) (identity.Preferences, error) {
	u, err := owner(ctx)
	if err != nil {
		return identity.Preferences{}, err
	}
	return p.store.PreferencesOf(ctx, u.ID)
}

// SavePreferences records that the preferences changed, without their content.
func (p *Preferences) SavePreferences(
	ctx context.Context, document json.RawMessage, revision int64,
) (identity.Preferences, error) {
	u, err := owner(ctx)
	if err != nil {
		return identity.Preferences{}, err
	}
	out := identity.Preferences{}
	if out.Document, err = preferenceDocument(document); err != nil {
		return identity.Preferences{}, err
	}
	err = p.Unit.Do(ctx, func(ctx context.Context) error {
		if out.Revision, err = p.store.SavePreferences(ctx, u.ID, out.Document, revision); err != nil {
			return err
		}
		return p.Recorder.Record(ctx, audit.Entry{Action: audit.UserPreferences, Object: kernel.User(u),
			Detail: map[string]any{"bytes": len(out.Document)}})
	})
	if err != nil {
		return identity.Preferences{}, fmt.Errorf("save preferences: %w", err)
	}
	return out, nil
}

func owner(ctx context.Context) (identity.User, error) {
	p, known := identity.From(ctx)
	if !known || p.User.ID == "" {
		return identity.User{}, identity.NotAllowed.New("only an account has preferences")
	}
	return p.User, nil
}

// preferenceDocument returns the document without white space.
func preferenceDocument(document json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, document); err != nil || b.Len() == 0 || b.Bytes()[0] != '{' {
		return nil, fault.BadField("body", "expected a JSON object")
	}
	if b.Len() > identity.MaxPreferences {
		return nil, (&fault.Error{Kind: fault.TooLarge,
			Message: fmt.Sprintf("preferences take at most %d bytes", identity.MaxPreferences)}).
			With("limit", identity.MaxPreferences)
	}
	return b.Bytes(), nil
}
