package execution

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secret"
)

// NewTokenBody is a request for the token of a worker.
type NewTokenBody struct {
	Name      string   `json:"name" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" patternDescription:"letters, digits, dots, _ and -, the first a letter or a digit" doc:"The worker's, which has to claim under exactly this name."`
	Queues    []string `json:"queues,omitempty" maxItems:"64" doc:"Those whose runs it may claim, whatever their grants are; the default queue where absent."`
	ExpiresIn *int64   `json:"expires_in,omitempty" minimum:"1" maximum:"3153600000" doc:"Seconds, at most a hundred years; never where absent."`
}

// TokenBody is the token of a worker without its text.
type TokenBody struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Queues    []string  `json:"queues"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"Absent where it never expires."`
}

func tokenBody(t execution.WorkerToken) TokenBody {
	return TokenBody{
		ID: t.ID, Name: t.Name, Queues: t.Queues, CreatedAt: t.CreatedAt, CreatedBy: t.CreatedBy,
		ExpiresAt: t.ExpiresAt,
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

func tokenList(rows []TokenBody, l httpapi.Listed) TokenList { return TokenList{rows, l} }

// minted is a new token with its text.
type minted struct {
	execution.WorkerToken
	text secret.Text
}

func (h *handlers) mint(ctx context.Context, b *NewTokenBody) (m minted, err error) {
	var ttl time.Duration // zero never expires
	if b.ExpiresIn != nil {
		ttl = time.Duration(*b.ExpiresIn) * time.Second
	}
	m.WorkerToken, m.text, err = h.Tokens.Mint(ctx, b.Name, b.Queues, ttl)
	return m, err
}

func (h *handlers) tokens(r *httpapi.Router) {
	k := httpapi.Kind[execution.WorkerToken, TokenBody]{
		Path: "/v1/worker-tokens", Noun: "worker-token", Tag: tag, Read: httpapi.Needs("worker_token", "read"),
		Write: httpapi.Needs("worker_token", "revoke"), Example: exampleToken(), Body: tokenBody,
		Record: func(t execution.WorkerToken) object.Record { return httpapi.Unchanging(t.ID) },
	}
	fresh := httpapi.Kind[minted, MintedBody]{
		Path: k.Path, Noun: k.Noun, Tag: tag, Write: httpapi.Needs("worker_token", "mint"), Example: exampleMinted(),
		Request: NewTokenBody{Name: "edge-1", Queues: []string{"dmz"}},
		Body:    func(m minted) MintedBody { return MintedBody{tokenBody(m.WorkerToken), m.text.Reveal()} },
		Record:  func(m minted) object.Record { return httpapi.Unchanging(m.ID) },
	}
	mint := fresh.Create(audit.WorkerMint, "Create a token for one worker over the relay; it is shown once",
		"The worker claims under this name, and no other worker does. An install with such a token serves the relay.")
	mint.ID, mint.Errors = "mint-worker-token", []int{http.StatusConflict}
	httpapi.Handle(r, mint, httpapi.Creator(fresh, httpapi.Self[NewTokenBody], h.mint))
	httpapi.HandleList(r, k.List("List the tokens of workers without their texts", "In the order of their creation."),
		tokenList, tokenBody, func(ctx context.Context, in *WorkersInput) ([]execution.WorkerToken, int, error) {
			return h.Tokens.List(ctx, in.Page())
		}, k.Example)
	httpapi.Handle(r, k.Get("Read one token of a worker without its text", "Its queues and when it expires."),
		k.Getter(h.Tokens.Get))
	revoke := k.Delete(audit.WorkerRevoke, "Revoke the token of a worker everywhere at once",
		"A claim that waits ends. The runs that the worker holds are interrupted when their leases end.")
	revoke.ID = "revoke-worker-token"
	httpapi.Handle(r, revoke, httpapi.UnchangingDeleter(h.Tokens.Get, h.Tokens.Revoke))
}

func exampleToken() TokenBody {
	at := time.Date(2026, time.January, 5, 8, 30, 0, 0, time.UTC)
	return TokenBody{
		ID: "wkt_01k0a8bq3vtx5zk9w2m4n6p8rs", Name: "edge-1", Queues: []string{"dmz"}, CreatedAt: at,
		CreatedBy: "usr_01k0a8bq3vtx5zk9w2m4n6p8rs", ExpiresAt: at.AddDate(0, 3, 0),
	}
}

func exampleMinted() MintedBody {
	return MintedBody{TokenBody: exampleToken(), Token: execution.WorkerTokenPrefix + "<TEXT>"}
}
