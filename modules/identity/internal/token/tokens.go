package token

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/modules/identity/internal/check"
	"github.com/writ-automation/writ/modules/identity/internal/trail"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx"
)

// maxTTL bounds how far ahead a token may expire; whoever wants longer wants no expiry.
const maxTTL = 100 * 365 * 24 * time.Hour

// Issuer makes tokens. It stores nothing.
type Issuer struct {
	Clock clock.Clock
	IDs   ids.Generator
}

// Issue makes a token and its secret. A ttl of zero never ends.
func (i Issuer) Issue(kind identity.TokenKind, name, userID, by string, ttl time.Duration) (identity.Token, string) {
	t := identity.Token{ID: i.IDs.New(ids.Token), Kind: kind, Name: name, UserID: userID, CreatedAt: i.Clock.Now(), CreatedBy: by}
	if ttl > 0 {
		t.ExpiresAt = t.CreatedAt.Add(ttl)
	}
	return t, New()
}

// Tokens keeps tokens.
type Tokens struct {
	store  identity.TokenStore
	rec    audit.Recorder
	unit   tx.Unit
	issuer Issuer
	log    *slog.Logger
}

var _ identity.Tokens = (*Tokens)(nil)

// NewTokens makes the keeper of tokens.
func NewTokens(s identity.TokenStore, r audit.Recorder, u tx.Unit, i Issuer, log *slog.Logger) *Tokens {
	return &Tokens{store: s, rec: r, unit: u, issuer: i, log: log}
}

// The system itself may mint for everybody. Faults: Invalid for name and expires_in, NotAllowed, UserNotFound naming
// user_id.
func (k *Tokens) Mint(ctx context.Context, name, userID string, ttl time.Duration) (identity.Token, string, error) {
	if err := checkRequest(name, ttl); err != nil {
		return identity.Token{}, "", err
	}
	userID, err := owner(ctx, userID)
	if err != nil {
		return identity.Token{}, "", err
	}
	made, secret := k.issuer.Issue(identity.APIToken, name, userID, check.Author(ctx), ttl)
	err = k.unit.Do(ctx, func(ctx context.Context) error {
		if err := k.store.InsertToken(ctx, made, Hash(secret)); err != nil {
			return err
		}
		return k.rec.Record(ctx, Created(made))
	})
	if err != nil {
		return identity.Token{}, "", check.Naming(err, identity.UserNotFound, "user_id", "no such account")
	}
	k.log.InfoContext(ctx, "token minted", "token_id", made.ID, "account", userID, "by", check.Author(ctx))
	return made, secret, nil
}

// Created is the entry of a token that was minted.
func Created(t identity.Token) audit.Entry {
	detail := map[string]any{"user_id": t.UserID, "kind": string(t.Kind)}
	if !t.ExpiresAt.IsZero() {
		detail["expires_at"] = trail.Instant(t.ExpiresAt)
	}
	return audit.Entry{Action: audit.TokenCreate, Object: trail.Token(t), Detail: detail}
}

func checkRequest(name string, ttl time.Duration) error {
	switch {
	case !check.Text(name, identity.MaxName, ""):
		return fault.BadField("name", "expected at most %d characters on one line", identity.MaxName)
	case ttl < 0 || ttl > maxTTL:
		return fault.BadField("expires_in", "expected a number of seconds up to a hundred years, 0 for never")
	default:
		return nil
	}
}

// owner decides whose token is minted.
func owner(ctx context.Context, userID string) (string, error) {
	caller, known := identity.From(ctx)
	switch {
	case !known && actor.From(ctx).Type != actor.System:
		return "", identity.NotAllowed.New("only an account may mint tokens")
	case userID == "" && caller.User.ID == "":
		return "", fault.BadField("user_id", "is required")
	case userID == "" || (known && userID == caller.User.ID):
		return caller.User.ID, nil
	case known && caller.User.Role != identity.Admin:
		return "", identity.NotAllowed.New("minting a token for another account takes the role admin")
	default:
		return userID, nil
	}
}

func (k *Tokens) Get(ctx context.Context, id string) (identity.Token, error) {
	return k.store.TokenByID(ctx, id)
}

func (k *Tokens) List(ctx context.Context, w page.Window) ([]identity.Token, int, error) {
	return k.store.ListTokens(ctx, w)
}

func (k *Tokens) Revoke(ctx context.Context, id string) error {
	err := k.unit.Do(ctx, func(ctx context.Context) error {
		was, err := k.store.TokenByID(ctx, id)
		if err != nil {
			return err
		}
		if err := k.store.DeleteToken(ctx, id); err != nil {
			return err
		}
		return k.rec.Record(ctx, audit.Entry{
			Action: audit.TokenRevoke, Object: trail.Token(was), Detail: map[string]any{"user_id": was.UserID, "kind": string(was.Kind)},
		})
	})
	if err == nil {
		k.log.InfoContext(ctx, "token revoked", "token_id", id, "by", check.Author(ctx))
	}
	return err
}
