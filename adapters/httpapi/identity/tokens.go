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
	ID         string     `json:"id"`
	Kind       string     `json:"kind" enum:"api,session"`
	Name       string     `json:"name"`
	UserID     string     `json:"user_id"`
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  string     `json:"created_by"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty" doc:"Absent where it never expires."`
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"Absent where it never was."`
	LimitsBody
	ParentID string `json:"parent_id,omitempty" doc:"The token that it was made with."`
}

func tokenBody(t identity.Token) TokenBody {
	return TokenBody{
		ID: t.ID, Kind: string(t.Kind), Name: t.Name, UserID: t.UserID, CreatedAt: t.CreatedAt, CreatedBy: t.CreatedBy,
		ExpiresAt: when(t.ExpiresAt), LastUsedAt: when(t.LastUsedAt), LimitsBody: limitsBody(t), ParentID: t.ParentID,
	}
}

// MintedBody is a token with its secret.
type MintedBody struct {
	TokenBody
	Token string `json:"token" doc:"The bearer token, shown here alone."`
}

func (h *handlers) mint(
	ctx context.Context, in *httpapi.NewInput[MintBody],
) (*httpapi.NewObjectOutput[MintedBody], error) {
	n := identity.NewToken{Name: in.Body.Name, UserID: in.Body.UserID, Networks: in.Body.Networks,
		Password: in.Body.Password}
	if in.Body.ExpiresIn != nil {
		n.TTL = time.Duration(*in.Body.ExpiresIn) * time.Second
	}
	for _, s := range in.Body.Scopes {
		n.Scopes = append(n.Scopes, identity.Scope(s))
	}
	t, secret, err := h.Tokens.Mint(ctx, n)
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
		Summary: "Create a token; its secret is shown once",
		Description: "Everybody mints for the own account; for another one it takes an admin. A token made with an API token " +
			"expires no later than it, and has its scopes and networks or fewer; a session sets no such limit. A token for another " +
			"account takes a recent sign-in: a session, a token that rests on a sign-in of the last hour, or the member password.",
		Access: httpapi.Needs("token", "mint"),
		Status: http.StatusCreated, Example: exampleMinted(), Request: exampleMint(), Errors: getStatuses(),
	}, h.mint)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/tokens", ID: "list-tokens", Tag: tag, Summary: "List tokens without their secrets",
		Description: "In the order of their creation, those of every account. For admins alone.",
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
		Description: "Live streams that it opened end with it, and the tokens that it made for its own account.",
		Summary:     "Revoke a token everywhere at once",
		Access:      httpapi.Needs("token", "revoke"), Status: http.StatusNoContent, Errors: deleteStatuses(),
	}, h.revoke)
}
