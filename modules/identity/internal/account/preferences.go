package account

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/audit"
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
	if out.Document, err = kernel.Preferences(document); err != nil {
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
