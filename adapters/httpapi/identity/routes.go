// Package identity serves the API of sign-in, accounts, tokens, teams, organizations and grants. No answer and no log
// contains a password; only the answer that creates a token contains it.
package identity

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Params are the dependencies of the routes.
type Params struct {
	SignIn    identity.SignIn
	Self      identity.Self
	Tokens    identity.Tokens
	Accounts  identity.Accounts
	Teams     identity.Teams
	Orgs      identity.Orgs
	Grants    identity.Grants
	Providers Providers
}

// Providers are the outside identity providers. The routes of one that is nil, and of all without a Federation and
// Beginnings, answer SignInDisabled.
type Providers struct {
	OIDC, SAML identity.Provider
	Federation identity.Federation
	Beginnings identity.SignInLimiter
}

// ready reports whether p can be used for sign-in.
func (s Providers) ready(p identity.Provider) bool {
	return p != nil && s.Federation != nil && s.Beginnings != nil
}

type handlers struct{ Params }

// New returns the routes of the identity context.
func New(p Params) httpapi.Routes {
	return httpapi.Routes{Name: "identity", Register: func(r *httpapi.Router) {
		h := &handlers{Params: p}
		h.sessions(r)
		h.minting(r)
		h.accounts(r)
		h.teams(r)
		h.orgs(r)
		h.granting(r)
		h.providerRoutes(r)
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

// Codes lists the faults that only these routes return.
func Codes() []fault.Code { return []fault.Code{SignInDisabled, InsecureConnection} }

// unchanging is the revision of objects that are never changed.
const unchanging = 1

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

// remove deletes an object that never changes: only one revision matches, and a missing object is reported before a
// wrong revision.
func remove(
	ctx context.Context, in *httpapi.DeleteInput, get, del func(context.Context, string) error,
) (*httpapi.NoOutput, error) {
	if err := checkRevision(ctx, in.ID, in.IfMatch, get); err != nil {
		return nil, err
	}
	return &httpapi.NoOutput{}, del(ctx, in.ID)
}

// removeMember is remove for a member of a group. A single member cannot be read, so get reads the group.
func removeMember(ctx context.Context, in *MemberInput, get func(context.Context, string) error,
	del func(ctx context.Context, id, userID string) error) (
	*httpapi.NoOutput, error,
) {
	if err := checkRevision(ctx, in.ID, in.IfMatch, get); err != nil {
		return nil, err
	}
	return &httpapi.NoOutput{}, del(ctx, in.ID, in.UserID)
}

// checkRevision returns an error if the write is for another revision than the only one.
func checkRevision(ctx context.Context, id string, m httpapi.IfMatch, get func(context.Context, string) error) error {
	if rev := m.Revision(); rev == 0 || rev == unchanging {
		return nil
	}
	if err := get(ctx, id); err != nil {
		return err
	}
	return identity.RevisionChanged.New("the object is not at the revision that If-Match names")
}

// only discards the first result of a port's method.
func only[T any](get func(context.Context, string) (T, error)) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		_, err := get(ctx, id)
		return err
	}
}

// The statuses that several operations share.
func getStatuses() []int    { return []int{http.StatusNotFound} }
func deleteStatuses() []int { return []int{http.StatusNotFound, http.StatusPreconditionFailed} }
func listStatuses() []int   { return []int{http.StatusServiceUnavailable} }
func createStatuses() []int { return []int{http.StatusNotFound, http.StatusConflict} }
