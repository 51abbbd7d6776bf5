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
	LimitsBody
	Password identity.Password `json:"password,omitempty" minLength:"1" maxLength:"1024" doc:"The caller's own, as a recent sign-in."`
}

// LimitsBody limits the use of a token.
type LimitsBody struct {
	Scopes   []string `json:"scopes,omitempty" minItems:"1" maxItems:"4" enum:"read,launch,operate,admin" doc:"The operations that the token allows, within the role of its account; absent where there is no limit."`
	Networks []string `json:"networks,omitempty" minItems:"1" maxItems:"64" doc:"The networks (CIDR) that the token is valid from; absent where there is no limit."`
}

func limitsBody(t identity.Token) LimitsBody {
	var b LimitsBody
	for _, s := range t.Scopes {
		b.Scopes = append(b.Scopes, string(s))
	}
	for _, p := range t.Networks {
		b.Networks = append(b.Networks, p.String())
	}
	return b
}

// TokenBody is a token without its secret.
type TokenBody struct {
	ID         string             `json:"id"`
	Kind       identity.TokenKind `json:"kind" enum:"api,session"`
	Name       string             `json:"name"`
	UserID     string             `json:"user_id"`
	Username   string             `json:"username" doc:"The name of the account, as it is now."`
	CreatedAt  time.Time          `json:"created_at"`
	CreatedBy  string             `json:"created_by"`
	ExpiresAt  time.Time          `json:"expires_at,omitzero" doc:"Absent where it never expires."`
	LastUsedAt time.Time          `json:"last_used_at,omitzero" doc:"Absent where it never was."`
	LimitsBody
	ParentID string `json:"parent_id,omitempty" doc:"The token that it was made with."`
}

func tokenBody(t identity.Token) TokenBody {
	return TokenBody{
		ID: t.ID, Kind: t.Kind, Name: t.Name, UserID: t.UserID, Username: t.Username, CreatedAt: t.CreatedAt,
		CreatedBy: t.CreatedBy, ExpiresAt: t.ExpiresAt, LastUsedAt: t.LastUsedAt, LimitsBody: limitsBody(t),
		ParentID: t.ParentID,
	}
}

// MintedBody is a token with its secret.
type MintedBody struct {
	TokenBody
	Token string `json:"token" doc:"The bearer token, shown only here."`
}

// minted is a new token with its secret.
type minted struct {
	identity.Token
	secret string
}

func (h *handlers) mint(ctx context.Context, b *MintBody) (m minted, err error) {
	n := identity.NewToken{Name: b.Name, UserID: b.UserID, Networks: b.Networks, Password: b.Password}
	if b.ExpiresIn != nil {
		n.TTL = time.Duration(*b.ExpiresIn) * time.Second
	}
	for _, s := range b.Scopes {
		n.Scopes = append(n.Scopes, identity.Scope(s))
	}
	m.Token, m.secret, err = h.Tokens.Mint(ctx, n)
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
		Record: func(t identity.Token) object.Record { return httpapi.Unchanging(t.ID) },
	}
	fresh := httpapi.Kind[minted, MintedBody]{
		Path: k.Path, Noun: k.Noun, Tag: tag, Write: httpapi.Needs("token", "mint"), Example: exampleMinted(),
		Request: exampleMint(), Body: func(m minted) MintedBody { return MintedBody{tokenBody(m.Token), m.secret} },
		Record: func(m minted) object.Record { return httpapi.Unchanging(m.ID) },
	}
	mint := fresh.Create(audit.TokenCreate, "Create a token; its secret is shown once",
		"Everybody mints for the own account; for another one it takes an admin. A token made with an API token "+
			"expires no later than it, and has its scopes and networks or fewer; a session sets no such limit. A token "+
			"for another account takes a recent sign-in: a session, a token that rests on a sign-in of the last hour, or "+
			"the member password.")
	mint.ID, mint.Errors = "mint-token", []int{http.StatusNotFound}
	httpapi.Handle(r, mint, httpapi.Creator(fresh, httpapi.Self[MintBody], h.mint))
	httpapi.HandleList(r, k.List("List tokens without their secrets",
		"In the order of their creation, those of every account. For admins alone."),
		tokenList, tokenBody, unfiltered(h.Tokens.List), k.Example)
	httpapi.Handle(r, k.Get("Read one token without its secret", "last_used_at is exact to a minute."),
		k.Getter(h.Tokens.Get))
	revoke := k.Delete(audit.TokenRevoke, "Revoke a token everywhere at once",
		"Live streams that it opened end with it, and the tokens that it made for its own account.")
	revoke.ID = "revoke-token"
	httpapi.Handle(r, revoke, httpapi.UnchangingDeleter(h.Tokens.Get, h.Tokens.Revoke))
}
