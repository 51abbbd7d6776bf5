// Package identity serves the API of sign-in, accounts, tokens, teams, organizations and grants. No answer and no log
// contains a password; only the answer that creates a token contains it.
package identity

import (
	"context"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// ready reports whether p can be used for sign-in.
func (s Providers) ready(p identity.Provider) bool {
	return p != nil && s.Federation != nil && s.Beginnings != nil && s.Programs != nil
}

type handlers struct{ Params }

// New returns the routes of the identity context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "identity", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p}
		h.sessions(r)
		h.preferenceRoutes(r)
		h.tokens(r)
		h.accounts(r)
		h.teams(r)
		h.orgs(r)
		h.grants(r)
		h.providerRoutes(r)
		h.programRoutes(r)
	}}
}

const tag = "identity"

// The faults that only these routes return.
var (
	// SignInDisabled is the fault of a sign-in method that the install does not have.
	SignInDisabled = fault.Code{Name: "sign_in_disabled", Kind: fault.NotFound}
	// InsecureConnection is the fault of a sign-in over a connection that must not carry the session cookie.
	InsecureConnection = fault.Code{Name: "insecure_connection", Kind: fault.Forbidden}
)

// MemberInput selects a member and its expected revision.
type MemberInput struct {
	ID      string          `path:"id"`
	UserID  string          `path:"userID"`
	IfMatch httpapi.IfMatch `header:"If-Match"`
}

// MembersInput selects the members of a group.
type MembersInput struct {
	ID string `path:"id"`
	httpapi.Window
}

// ListInput selects a window of a list.
type ListInput struct{ httpapi.Window }

// unfiltered returns a function for httpapi.HandleList that calls a port with the window of the query.
func unfiltered[T any](
	list func(context.Context, page.Window) ([]T, int, error),
) func(context.Context, *ListInput) ([]T, int, error) {
	return func(ctx context.Context, in *ListInput) ([]T, int, error) { return list(ctx, in.Page()) }
}

// memberRemover returns the handler that removes a member of a group. A single member cannot be read, so get reads the
// group.
func memberRemover[T any](
	get func(context.Context, string) (T, error), del func(ctx context.Context, id, userID string) error,
) func(context.Context, *MemberInput) (*httpapi.NoOutput, error) {
	return func(ctx context.Context, in *MemberInput) (*httpapi.NoOutput, error) {
		if err := httpapi.CheckUnchanging(ctx, in.ID, in.IfMatch, get); err != nil {
			return nil, err
		}
		return &httpapi.NoOutput{}, del(ctx, in.ID, in.UserID)
	}
}
