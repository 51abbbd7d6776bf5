package access

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// maxName bounds a token's name, in characters.
const maxName = 200

// maxTTL bounds how far ahead a token may expire; whoever wants longer wants no expiry.
const maxTTL = 100 * 365 * 24 * time.Hour

// Tokens keeps tokens.
type Tokens struct {
	store identity.Store
	unit  tx.Unit
	clock clock.Clock
	ids   ids.Generator
}

var _ identity.Tokens = (*Tokens)(nil)

// NewTokens makes the keeper of tokens.
func NewTokens(s identity.Store, u tx.Unit, c clock.Clock, g ids.Generator) *Tokens {
	return &Tokens{store: s, unit: u, clock: c, ids: g}
}

// Mint implements identity.Tokens. Everybody may mint for the own account; for another one it takes an admin, or the
// system itself. Faults: Invalid for name and ttl, NotAllowed, UserNotFound naming user_id.
func (t *Tokens) Mint(ctx context.Context, name, userID string, ttl time.Duration) (identity.Token, string, error) {
	if err := checkRequest(name, ttl); err != nil {
		return identity.Token{}, "", err
	}
	userID, err := owner(ctx, userID)
	if err != nil {
		return identity.Token{}, "", err
	}
	made, secret := issue(ctx, t.clock, t.ids, name, userID, ttl)
	err = t.unit.Do(ctx, func(ctx context.Context) error {
		if _, err := t.store.UserByID(ctx, userID); fault.Is(err, fault.NotFound) {
			f := identity.UserNotFound.New("user_id: no such account")
			f.Fields = []fault.Field{{Location: "user_id", Message: "no such account"}}
			return f
		} else if err != nil {
			return err
		}
		return t.store.InsertToken(ctx, made, token.Hash(secret))
	})
	if err != nil {
		return identity.Token{}, "", err
	}
	return made, secret, nil
}

func checkRequest(name string, ttl time.Duration) error {
	switch {
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, isControl):
		return fault.BadField("name", "expected at most %d characters on one line", maxName)
	case ttl < 0 || ttl > maxTTL:
		return fault.BadField("expires_in", "expected a number of seconds up to a hundred years, 0 for never")
	default:
		return nil
	}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// owner decides whose token is minted.
func owner(ctx context.Context, userID string) (string, error) {
	caller, known := identity.From(ctx)
	switch {
	case !known && actor.From(ctx).Type != actor.System:
		return "", identity.NotAllowed.New("only an account may mint tokens")
	case userID == "" && !known:
		return "", fault.BadField("user_id", "is required")
	case userID == "" || (known && userID == caller.User.ID):
		return caller.User.ID, nil
	case known && caller.User.Role != identity.Admin:
		return "", identity.NotAllowed.New("minting a token for another account takes the role admin")
	default:
		return userID, nil
	}
}

// issue makes a token and its secret.
func issue(ctx context.Context, c clock.Clock, g ids.Generator, name, userID string, ttl time.Duration) (identity.Token, string) {
	by := actor.From(ctx)
	t := identity.Token{ID: g.New(ids.Token), Name: name, UserID: userID, CreatedAt: c.Now(), CreatedBy: by.ID}
	if t.CreatedBy == "" {
		t.CreatedBy = by.Name
	}
	if ttl > 0 {
		t.ExpiresAt = t.CreatedAt.Add(ttl)
	}
	return t, token.New()
}

// List implements identity.Tokens.
func (t *Tokens) List(ctx context.Context) ([]identity.Token, error) { return t.store.ListTokens(ctx) }

// Revoke implements identity.Tokens.
func (t *Tokens) Revoke(ctx context.Context, id string) error {
	return t.unit.Do(ctx, func(ctx context.Context) error { return t.store.DeleteToken(ctx, id) })
}
