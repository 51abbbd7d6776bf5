package identity

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
)

// MintBody is a request for a token.
type MintBody struct {
	Name      string `json:"name" minLength:"1" maxLength:"200"`
	UserID    string `json:"user_id,omitempty" doc:"The caller where absent; another account takes an admin."`
	ExpiresIn *int64 `json:"expires_in,omitempty" minimum:"1" maximum:"3153600000" doc:"Seconds, at most a hundred years; never where absent."`
}

// TokenBody is a token without its secret.
type TokenBody struct {
	ID         string             `json:"id"`
	Kind       identity.TokenKind `json:"kind" enum:"api,session"`
	Name       string             `json:"name"`
	UserID     string             `json:"user_id"`
	CreatedAt  time.Time          `json:"created_at"`
	CreatedBy  string             `json:"created_by"`
	ExpiresAt  time.Time          `json:"expires_at,omitzero" doc:"Absent where it never expires."`
	LastUsedAt time.Time          `json:"last_used_at,omitzero" doc:"Absent where it never was."`
}

func tokenBody(t identity.Token) TokenBody { return TokenBody(t) }

// MintedBody is a token with its secret.
type MintedBody struct {
	TokenBody
	Token string `json:"token" doc:"The bearer token, shown here alone."`
}

// minted is a new token with its secret.
type minted struct {
	identity.Token
	secret string
}

func (h *handlers) mint(ctx context.Context, b *MintBody) (m minted, err error) {
	ttl := time.Duration(0) // never expires
	if b.ExpiresIn != nil {
		ttl = time.Duration(*b.ExpiresIn) * time.Second
	}
	m.Token, m.secret, err = h.Tokens.Mint(ctx, b.Name, b.UserID, ttl)
	return m, err
}

// TokenList lists tokens in order of creation.
type TokenList struct {
	Tokens []TokenBody `json:"tokens"`
	httpapi.Listed
}

func tokenList(rows []TokenBody, l httpapi.Listed) TokenList { return TokenList{rows, l} }

func (h *handlers) tokens(r *httpapi.Router) {
	k := httpapi.Kind[identity.Token, TokenBody]{
		Path: "/v1/tokens", Noun: "token", Tag: tag, Read: httpapi.Needs("token", "read"),
		Write: httpapi.Needs("token", "revoke"), Example: exampleToken(), Body: tokenBody,
		Record: func(t identity.Token) object.Record { return unchanging(t.ID) },
	}
	fresh := httpapi.Kind[minted, MintedBody]{
		Path: k.Path, Noun: k.Noun, Tag: tag, Write: httpapi.Needs("token", "mint"), Example: exampleMinted(),
		Request: exampleMint(), Body: func(m minted) MintedBody { return MintedBody{tokenBody(m.Token), m.secret} },
		Record: func(m minted) object.Record { return unchanging(m.ID) },
	}
	mint := fresh.Create(audit.TokenCreate, "Create a token; its secret is shown once",
		"Everybody mints for the own account; for another one it takes an admin.")
	mint.ID, mint.Errors = "mint-token", []int{http.StatusNotFound}
	httpapi.Handle(r, mint, httpapi.Creator(fresh, httpapi.Self[MintBody], h.mint))
	httpapi.HandleList(r, k.List("List tokens without their secrets",
		"In the order of their creation, those of every account. For admins alone."),
		tokenList, tokenBody, unfiltered(h.Tokens.List), k.Example)
	httpapi.Handle(r, k.Get("Read one token without its secret", "last_used_at is exact to a minute."),
		k.Getter(h.Tokens.Get))
	revoke := k.Delete(audit.TokenRevoke, "Revoke a token everywhere at once",
		"Live streams and sessions that it opened end with it.")
	revoke.ID = "revoke-token"
	httpapi.Handle(r, revoke, remover(h.Tokens.Get, h.Tokens.Revoke))
}
