package token

import (
	"context"
	"time"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/object"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// maxTTL limits the lifetime of a token that expires.
const maxTTL = 100 * 365 * 24 * time.Hour

// Issue makes a token and its secret, and stores nothing. A token with a ttl of zero does not expire.
func Issue(
	k kernel.Kernel, kind identity.TokenKind, name, userID, by string, ttl time.Duration,
) (identity.Token, string) {
	t := identity.Token{ID: k.IDs.New(ids.Token), Kind: kind, Name: name, UserID: userID, CreatedAt: k.Clock.Now(),
		CreatedBy: by}
	if ttl > 0 {
		t.ExpiresAt = t.CreatedAt.Add(ttl)
	}
	return t, random()
}

// Tokens implements identity.Tokens.
type Tokens struct {
	kernel.Kernel
	store identity.TokenStore
}

var _ identity.Tokens = (*Tokens)(nil)

// NewTokens makes a Tokens over a store.
func NewTokens(k kernel.Kernel, s identity.TokenStore) *Tokens { return &Tokens{Kernel: k, store: s} }

// Mint allows the system itself to mint for every account. Errors: Invalid for name and expires_in, NotAllowed,
// UserNotFound for user_id.
func (k *Tokens) Mint(ctx context.Context, name, userID string, ttl time.Duration) (identity.Token, string, error) {
	if err := checkRequest(name, ttl); err != nil {
		return identity.Token{}, "", err
	}
	userID, err := owner(ctx, userID)
	if err != nil {
		return identity.Token{}, "", err
	}
	made, secret := Issue(k.Kernel, identity.APIToken, name, userID, object.Author(ctx), ttl)
	err = k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.store.InsertToken(ctx, made, Hash(secret)); err != nil {
			return err
		}
		return k.Recorder.Record(ctx, Created(made))
	})
	if err != nil {
		return identity.Token{}, "", kernel.Naming(err, identity.UserNotFound, "user_id", "no such account")
	}
	k.Log.InfoContext(ctx, "token minted", "token_id", made.ID, "account", userID, "by", object.Author(ctx))
	return made, secret, nil
}

// Created is the entry of a minted token.
func Created(t identity.Token) audit.Entry {
	detail := map[string]any{"user_id": t.UserID, "kind": string(t.Kind)}
	AddExpiry(detail, t)
	return audit.Entry{Action: audit.TokenCreate, Object: entryObject(t), Detail: detail}
}

// AddExpiry adds the time at which a token expires to the detail of an entry.
func AddExpiry(detail map[string]any, t identity.Token) {
	if !t.ExpiresAt.IsZero() {
		detail["expires_at"] = t.ExpiresAt.UTC().Format(time.RFC3339Nano)
	}
}

func entryObject(t identity.Token) audit.Object {
	return audit.Object{Kind: "token", ID: t.ID, Name: t.Name}
}

func checkRequest(name string, ttl time.Duration) error {
	switch {
	case !object.Line(name, identity.MaxName):
		return fault.BadField("name", "expected at most %d characters on one line", identity.MaxName)
	case ttl < 0 || ttl > maxTTL:
		return fault.BadField("expires_in", "expected a number of seconds up to a hundred years, 0 for never")
	default:
		return nil
	}
}

// owner returns the account of a token to mint.
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
	err := k.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := k.store.TokenByID(ctx, id)
		if err != nil {
			return err
		}
		if err := k.store.DeleteToken(ctx, id); err != nil {
			return err
		}
		return k.Recorder.Record(ctx, audit.Entry{
			Action: audit.TokenRevoke, Object: entryObject(was),
			Detail: map[string]any{"user_id": was.UserID, "kind": string(was.Kind)},
		})
	})
	if err == nil {
		k.Log.InfoContext(ctx, "token revoked", "token_id", id, "by", object.Author(ctx))
	}
	return err
}
