package identity

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// MintBody is a request for a token.
type MintBody struct {
	Name      string `json:"name" minLength:"1" maxLength:"200"`
	UserID    string `json:"user_id,omitempty" doc:"The caller if absent; only an admin may name another account."`
	ExpiresIn *int64 `json:"expires_in,omitempty" minimum:"1" maximum:"3153600000" doc:"Seconds, at most a hundred years; never if absent."`
}

// TokenBody is a token without its secret.
type TokenBody struct {
	ID         string     `json:"id"`
	Kind       string     `json:"kind" enum:"api,session"`
	Name       string     `json:"name"`
	UserID     string     `json:"user_id"`
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  string     `json:"created_by"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty" doc:"Absent if it never expires."`
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"Absent if it was never used."`
}

func tokenBody(t identity.Token) TokenBody {
	return TokenBody{
		ID: t.ID, Kind: string(t.Kind), Name: t.Name, UserID: t.UserID, CreatedAt: t.CreatedAt, CreatedBy: t.CreatedBy,
		ExpiresAt: when(t.ExpiresAt), LastUsedAt: when(t.LastUsedAt),
	}
}

// MintedBody is a token with its secret.
type MintedBody struct {
	TokenBody
	Token string `json:"token" doc:"The bearer token, shown only here."`
}

func (h *handlers) mint(
	ctx context.Context, in *httpapi.NewInput[MintBody],
) (*httpapi.NewObjectOutput[MintedBody], error) {
	ttl := time.Duration(0) // never expires
	if in.Body.ExpiresIn != nil {
		ttl = time.Duration(*in.Body.ExpiresIn) * time.Second
	}
	t, secret, err := h.Tokens.Mint(ctx, in.Body.Name, in.Body.UserID, ttl)
	if err != nil {
		return nil, err
	}
	return &httpapi.NewObjectOutput[MintedBody]{
		Location: "/v1/tokens/" + t.ID, ETag: httpapi.ETag(unchanging),
		Body: MintedBody{TokenBody: tokenBody(t), Token: secret},
	}, nil
}

func (h *handlers) token(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[TokenBody], error) {
	t, err := h.Tokens.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[TokenBody]{ETag: httpapi.ETag(unchanging), Body: tokenBody(t)}, nil
}

// TokenList lists tokens in order of creation.
type TokenList struct {
	Tokens []TokenBody `json:"tokens"`
	httpapi.Listed
}

func (h *handlers) tokens(ctx context.Context, in *ListInput) (*httpapi.ListOutput[TokenList], error) {
	list, total, err := h.Tokens.List(ctx, in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, tokenBody)
	return &httpapi.ListOutput[TokenList]{Body: TokenList{Tokens: rows, Listed: listed}}, nil
}

func (h *handlers) revoke(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return remove(ctx, in, only(h.Tokens.Get), h.Tokens.Revoke)
}

func (h *handlers) minting(r *httpapi.Router) {
	read := httpapi.Needs("token", "read")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/tokens", ID: "mint-token", Action: audit.TokenCreate, Tag: tag,
		Summary:     "Create a token; its secret is shown once",
		Description: "Every account creates tokens for itself; only an admin creates them for another account.",
		Access:      httpapi.Needs("token", "mint"),
		Status:      http.StatusCreated, Example: exampleMinted(), Request: exampleMint(), Errors: getStatuses(),
	}, h.mint)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/tokens", ID: "list-tokens", Tag: tag, Summary: "List tokens without their secrets",
		Description: "The tokens of every account, in the order of their creation. Only for admins.",
		Access:      read, Status: http.StatusOK, Errors: listStatuses(),
		Example: TokenList{Tokens: []TokenBody{exampleToken()}, Listed: httpapi.ExampleListed()},
	}, h.tokens)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/tokens/{id}", ID: "get-token", Tag: tag,
		Summary:     "Read one token without its secret",
		Description: "last_used_at is exact to a minute.",
		Access:      read, Status: http.StatusOK, Example: exampleToken(), Errors: getStatuses(),
	}, h.token)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: "/v1/tokens/{id}", ID: "revoke-token", Action: audit.TokenRevoke, Tag: tag,
		Description: "Live streams and sessions that it opened end with it.",
		Summary:     "Revoke a token everywhere at once",
		Access:      httpapi.Needs("token", "revoke"), Status: http.StatusNoContent, Errors: deleteStatuses(),
	}, h.revoke)
}
