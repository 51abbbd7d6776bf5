package token

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
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
	t.SignedInAt = t.CreatedAt
	if ttl > 0 {
		t.ExpiresAt = t.CreatedAt.Add(ttl)
	}
	return t, random()
}

// Tokens implements identity.Tokens.
type Tokens struct {
	kernel.Kernel
	store  identity.TokenStore
	recent Recent
	prove  Prove
}

// Prove verifies the password of the caller of ctx and then calls accepted. In the unit that this opens, unchanged
// returns an error if the password has changed meanwhile.
type Prove func(
	ctx context.Context, p identity.Password, accepted func(unchanged func(context.Context) error) error,
) error

var _ identity.Tokens = (*Tokens)(nil)

// NewTokens makes a Tokens over the stores.
func NewTokens(k kernel.Kernel, s identity.TokenStore, a identity.AccountStore, prove Prove) *Tokens {
	return &Tokens{Kernel: k, store: s, recent: Recent{Tokens: s, Accounts: a, Clock: k.Clock}, prove: prove}
}

// Mint allows the system itself to mint for every account. Errors: Invalid for name, expires_in, scopes and networks,
// and the others of the contract.
func (k *Tokens) Mint(ctx context.Context, n identity.NewToken) (identity.Token, string, error) {
	networks, err := checkRequest(n)
	if err != nil {
		return identity.Token{}, "", err
	}
	userID, err := owner(ctx, n.UserID)
	if err != nil {
		return identity.Token{}, "", err
	}
	made, secret := Issue(k.Kernel, identity.APIToken, n.Name, userID, object.Author(ctx), n.TTL)
	made.Scopes, made.Networks = ordered(n.Scopes), networks
	if made, err = k.inherit(ctx, made, n.Password != ""); err != nil {
		return identity.Token{}, "", err
	}
	err = k.proven(ctx, userID, n.Password, func(unchanged func(context.Context) error) error {
		return k.Unit.Do(ctx, func(ctx context.Context) error {
			if err := unchanged(ctx); err != nil {
				return err
			}
			err := k.store.InsertToken(ctx, made, Hash(secret))
			if err != nil {
				return err
			}
			if made, err = k.store.TokenByID(ctx, made.ID); err != nil {
				return err
			}
			return k.Recorder.Record(ctx, Created(made))
		})
	})
	if identity.TokenNotFound.Is(err) {
		err = refusal() // the parent was revoked meanwhile
	}
	if err != nil {
		return identity.Token{}, "", kernel.Naming(err, identity.UserNotFound, "user_id", "no such account")
	}
	k.Log.InfoContext(ctx, "token minted", "token_id", made.ID, "account", userID, "by", object.Author(ctx))
	return made, secret, nil
}

// proven calls insert once the caller has proven what a token for the account takes: a password is verified, and
// without one the token of another account takes a recent sign-in.
func (k *Tokens) proven(
	ctx context.Context, userID string, p identity.Password, insert func(unchanged func(context.Context) error) error,
) error {
	caller, known := identity.From(ctx)
	if p != "" && known && !caller.Open {
		return k.prove(ctx, p, insert)
	}
	if userID != caller.User.ID {
		if err := k.recent.Require(ctx); err != nil {
			return err
		}
	}
	return insert(func(context.Context) error { return nil })
}

// inherit gives a token its parent, and the limits of that if it is an API token: also the time of the sign-in, unless
// the caller proves to be the account again. A caller in open mode and the system itself have no token.
func (k *Tokens) inherit(ctx context.Context, t identity.Token, again bool) (identity.Token, error) {
	p, known := identity.From(ctx)
	if !known || p.Open {
		return t, nil
	}
	parent, err := k.store.TokenByID(ctx, p.TokenID)
	if fault.Is(err, fault.NotFound) {
		return t, refusal()
	}
	if err != nil {
		return t, err
	}
	if t.ParentID = parent.ID; parent.Kind == identity.SessionToken {
		return t, nil
	}
	if !again {
		t.SignedInAt = parent.SignedInAt
	}
	if end := parent.ExpiresAt; !end.IsZero() && (t.ExpiresAt.IsZero() || t.ExpiresAt.After(end)) {
		t.ExpiresAt = end
	}
	if len(t.Scopes) == 0 {
		t.Scopes = parent.Scopes
	}
	if len(t.Networks) == 0 {
		t.Networks = parent.Networks
	}
	switch {
	case !t.Scopes.Within(parent.Scopes):
		return t, beyond("scopes")
	case !identity.NetworksWithin(t.Networks, parent.Networks):
		return t, beyond("networks")
	}
	return t, nil
}

// beyond refuses a member that asks for more than the caller's token has.
func beyond(member string) error {
	f := identity.NotAllowed.New("%s: expected no more than the caller's token has", member)
	f.Fields = []fault.Field{{Location: member, Message: "expected no more than the caller's token has"}}
	return f
}

// ordered returns scopes in one order, each once.
func ordered(s identity.Scopes) identity.Scopes {
	var out identity.Scopes
	for _, one := range identity.AllScopes() {
		if slices.Contains(s, one) {
			out = append(out, one)
		}
	}
	return out
}

// Created is the entry of a minted token.
func Created(t identity.Token) audit.Entry {
	detail := map[string]any{"user_id": t.UserID, "kind": string(t.Kind)}
	AddExpiry(detail, t)
	if len(t.Scopes) > 0 {
		detail["scopes"] = list(t.Scopes)
	}
	if len(t.Networks) > 0 {
		detail["networks"] = list(t.Networks)
	}
	if t.ParentID != "" {
		detail["parent_id"] = t.ParentID
	}
	return audit.Entry{Action: audit.TokenCreate, Object: entryObject(t), Detail: detail}
}

// list returns values as a list of texts in a detail.
func list[T any](values []T) []any {
	out := make([]any, 0, len(values))
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// AddExpiry adds the time at which a token expires to the detail of an entry.
func AddExpiry(detail map[string]any, t identity.Token) {
	if !t.ExpiresAt.IsZero() {
		detail["expires_at"] = t.ExpiresAt.UTC().Format(time.RFC3339Nano)
	}
}

// AddEnded adds how many tokens ended to the detail of an entry.
func AddEnded(detail map[string]any, e identity.Ended) {
	detail["sessions_ended"] = e.Sessions
	if e.Tokens > 0 {
		detail["tokens_ended"] = e.Tokens
	}
}

func entryObject(t identity.Token) audit.Object {
	return audit.Object{Kind: "token", ID: t.ID, Name: t.Name}
}

func checkRequest(n identity.NewToken) ([]netip.Prefix, error) {
	for _, s := range n.Scopes {
		if !slices.Contains(identity.AllScopes(), s) {
			return nil, fault.BadField("scopes", "expected some of %s", identity.AllScopes())
		}
	}
	switch {
	case !object.Line(n.Name, identity.MaxName):
		return nil, fault.BadField("name", "expected at most %d characters on one line", identity.MaxName)
	case n.TTL < 0 || n.TTL > maxTTL:
		return nil, fault.BadField("expires_in", "expected a number of seconds up to a hundred years, 0 for never")
	default:
		return identity.ParseNetworks(n.Networks)
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
	case known && !caller.IsAdmin():
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
		others, err := k.store.DeleteToken(ctx, id)
		if err != nil {
			return err
		}
		detail := map[string]any{"user_id": was.UserID, "kind": string(was.Kind)}
		if others > 0 {
			detail["tokens_ended"] = others
		}
		return k.Recorder.Record(ctx, audit.Entry{Action: audit.TokenRevoke, Object: entryObject(was), Detail: detail})
	})
	if err == nil {
		k.Log.InfoContext(ctx, "token revoked", "token_id", id, "by", object.Author(ctx))
	}
	return err
}
