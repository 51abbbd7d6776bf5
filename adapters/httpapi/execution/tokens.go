package execution

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
)

const tokensPath = "/v1/worker-tokens"

// NewTokenBody is a request for the token of a worker.
type NewTokenBody struct {
	Name      string   `json:"name" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, _ and -, the first a letter or a digit" doc:"The worker's, which has to claim under exactly this name."`
	Queues    []string `json:"queues,omitempty" maxItems:"64" doc:"Those whose runs it may claim, whatever their grants are; the default queue where absent."`
	ExpiresIn *int64   `json:"expires_in,omitempty" minimum:"1" maximum:"3153600000" doc:"Seconds, at most a hundred years; never where absent."`
}

// TokenBody is the token of a worker without its text.
type TokenBody struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Queues    []string   `json:"queues"`
	CreatedAt time.Time  `json:"created_at"`
	CreatedBy string     `json:"created_by"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"Absent where it never expires."`
}

func tokenBody(t execution.WorkerToken) TokenBody {
	return TokenBody{
		ID: t.ID, Name: t.Name, Queues: t.Queues, CreatedAt: t.CreatedAt, CreatedBy: t.CreatedBy,
		ExpiresAt: httpapi.When(t.ExpiresAt),
	}
}

// MintedBody is the token of a worker with its text.
type MintedBody struct {
	TokenBody
	Token string `json:"token" doc:"Shown here alone."`
}

// TokenList lists the tokens of workers in the order of their creation.
type TokenList struct {
	WorkerTokens []TokenBody `json:"worker_tokens"`
	httpapi.Listed
}

// unchanging is the revision of an object that never changes.
const unchanging = 1

func (h *handlers) mint(
	ctx context.Context, in *httpapi.NewInput[NewTokenBody],
) (*httpapi.NewObjectOutput[MintedBody], error) {
	var ttl time.Duration // zero never expires
	if in.Body.ExpiresIn != nil {
		ttl = time.Duration(*in.Body.ExpiresIn) * time.Second
	}
	t, text, err := h.Tokens.Mint(ctx, in.Body.Name, in.Body.Queues, ttl)
	if err != nil {
		return nil, err
	}
	return &httpapi.NewObjectOutput[MintedBody]{
		Location: tokensPath + "/" + t.ID, ETag: httpapi.ETag(unchanging),
		Body: MintedBody{TokenBody: tokenBody(t), Token: text.Reveal()},
	}, nil
}

func (h *handlers) token(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[TokenBody], error) {
	t, err := h.Tokens.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[TokenBody]{ETag: httpapi.ETag(unchanging), Body: tokenBody(t)}, nil
}

func (h *handlers) tokens(ctx context.Context, in *WorkersInput) (*httpapi.ListOutput[TokenList], error) {
	list, total, err := h.Tokens.List(ctx, in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, tokenBody)
	return &httpapi.ListOutput[TokenList]{Body: TokenList{WorkerTokens: rows, Listed: listed}}, nil
}

func (h *handlers) revoke(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return httpapi.Deleted(ctx, in, func(ctx context.Context, id string, revision int64) error {
		if revision == 0 || revision == unchanging {
			return h.Tokens.Revoke(ctx, id)
		}
		if _, err := h.Tokens.Get(ctx, id); err != nil {
			return err
		}
		return access.RevisionChanged.New("the object is not at the revision that If-Match names")
	})
}

func (h *handlers) minting(r *httpapi.Router) {
	read := httpapi.Needs("worker_token", "read")
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: tokensPath, ID: "mint-worker-token", Action: audit.WorkerMint, Tag: tag,
		Summary:     "Create a token for one worker over the relay; it is shown once",
		Description: "The worker claims under this name, and nobody else does. An install with such a token serves the relay.",
		Access:      httpapi.Needs("worker_token", "mint"), Status: http.StatusCreated, Example: exampleMinted(),
		Request: NewTokenBody{Name: "edge-1", Queues: []string{"dmz"}}, Errors: []int{http.StatusConflict},
	}, h.mint)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: tokensPath, ID: "list-worker-tokens", Tag: tag,
		Summary: "List the tokens of workers without their texts", Description: "In the order of their creation.",
		Access: read, Status: http.StatusOK, Errors: []int{http.StatusServiceUnavailable},
		Example: TokenList{WorkerTokens: []TokenBody{exampleToken()}, Listed: httpapi.ExampleListed()},
	}, h.tokens)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: tokensPath + "/{id}", ID: "get-worker-token", Tag: tag,
		Summary: "Read one token of a worker without its text", Description: "Its queues and when it expires.",
		Access: read, Status: http.StatusOK, Example: exampleToken(), Errors: []int{http.StatusNotFound},
	}, h.token)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: tokensPath + "/{id}", ID: "revoke-worker-token", Action: audit.WorkerRevoke,
		Tag: tag, Summary: "Revoke the token of a worker everywhere at once",
		Description: "A claim that waits ends. The runs that the worker holds are interrupted when their leases end.",
		Access:      httpapi.Needs("worker_token", "revoke"), Status: http.StatusNoContent,
		Errors: []int{http.StatusNotFound, http.StatusPreconditionFailed},
	}, h.revoke)
}

func exampleToken() TokenBody {
	at := time.Date(2026, time.January, 5, 8, 30, 0, 0, time.UTC)
	ends := at.AddDate(0, 3, 0)
	return TokenBody{
		ID: "wkt_01k0a8bq3vtx5zk9w2m4n6p8rs", Name: "edge-1", Queues: []string{"dmz"}, CreatedAt: at,
		CreatedBy: "usr_01k0a8bq3vtx5zk9w2m4n6p8rs", ExpiresAt: &ends,
	}
}

func exampleMinted() MintedBody {
	return MintedBody{TokenBody: exampleToken(), Token: execution.WorkerTokenPrefix + "<TEXT>"}
}
