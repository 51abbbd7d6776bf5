package secrets

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/secrets"
)

// Params are the driving ports behind the routes.
type Params struct {
	Credentials secrets.Credentials
	Types       secrets.Types
}

type handlers struct{ Params }

// New returns the routes of the secrets context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "secrets", Register: func(r *httpapi.Router) {
		h := &handlers{p}
		h.credentials(r)
		h.types(r)
	}}
}

const tag = "secrets"

// IDInput names an object.
type IDInput struct {
	ID string `path:"id"`
}

// NewInput carries an object that is to be made.
type NewInput[B any] struct{ Body B }

// ChangeInput names an object, what the client has of it, and carries what replaces it.
type ChangeInput[B any] struct {
	ID      string          `path:"id"`
	IfMatch httpapi.IfMatch `header:"If-Match"`
	Body    B
}

// DeleteInput names an object and what the client has of it.
type DeleteInput struct {
	ID      string          `path:"id"`
	IfMatch httpapi.IfMatch `header:"If-Match"`
}

// NoOutput answers with nothing.
type NoOutput struct{}

// ObjectOutput answers with an object.
type ObjectOutput[B any] struct {
	ETag string `header:"ETag"`
	Body B
}

// NewObjectOutput answers with an object that was made.
type NewObjectOutput[B any] struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     B
}

// ListOutput answers with objects.
type ListOutput[L any] struct{ Body L }

// deleted answers a deletion.
func deleted(ctx context.Context, in *DeleteInput, del func(ctx context.Context, id string, revision int64) error) (*NoOutput, error) {
	if err := del(ctx, in.ID, in.IfMatch.Revision()); err != nil {
		return nil, err
	}
	return &NoOutput{}, nil
}

// The statuses that several operations share.
func missing() []int  { return []int{http.StatusNotFound} }
func unlisted() []int { return []int{http.StatusServiceUnavailable} }
func unmade() []int {
	return []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable}
}
func unchanged() []int {
	return []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusServiceUnavailable}
}
