// Package identity is the surface of who somebody is and what they may do: signing in, accounts, tokens, teams,
// organizations and grants. No answer and no log holds a password; a token is shown once, by what makes it.
package identity

import (
	"context"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Params are the driving ports behind the routes.
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

// ready reports whether somebody can sign in with p.
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

// The faults that these routes make themselves.
var (
	// SignInDisabled is the fault of a way to sign in that the install does not have.
	SignInDisabled = fault.Code{Name: "sign_in_disabled", Kind: fault.NotFound}
	// InsecureConnection is the fault of a sign-in whose session the browser may not be given.
	InsecureConnection = fault.Code{Name: "insecure_connection", Kind: fault.Forbidden}
)

// Codes lists the faults that these routes make themselves.
func Codes() []fault.Code { return []fault.Code{SignInDisabled, InsecureConnection} }

// unchanging is the revision of what is made and deleted and never changed.
const unchanging = 1

// MemberInput names a member and what the client has of it.
type MemberInput struct {
	ID      string          `path:"id"`
	UserID  string          `path:"userID"`
	IfMatch httpapi.IfMatch `header:"If-Match"`
}

// MembersInput asks for members.
type MembersInput struct {
	ID string `path:"id"`
	httpapi.Window
}

// ListInput asks for a list.
type ListInput struct{ httpapi.Window }

// remove deletes what never changes: only the one revision fits it, and what does not exist is missing before it is
// another revision.
func remove(ctx context.Context, in *httpapi.DeleteInput, get, del func(context.Context, string) error) (*httpapi.NoOutput, error) {
	if err := checkRevision(ctx, in.ID, in.IfMatch, get); err != nil {
		return nil, err
	}
	return &httpapi.NoOutput{}, del(ctx, in.ID)
}

// removeMember is remove for a member of a group. A member by itself cannot be read, so that only the group may be
// missing.
func removeMember(ctx context.Context, in *MemberInput, get func(context.Context, string) error, del func(ctx context.Context, id, userID string) error) (
	*httpapi.NoOutput, error,
) {
	if err := checkRevision(ctx, in.ID, in.IfMatch, get); err != nil {
		return nil, err
	}
	return &httpapi.NoOutput{}, del(ctx, in.ID, in.UserID)
}

// checkRevision returns an error where the write is for another revision than the only one.
func checkRevision(ctx context.Context, id string, m httpapi.IfMatch, get func(context.Context, string) error) error {
	if rev := m.Revision(); rev == 0 || rev == unchanging {
		return nil
	}
	if err := get(ctx, id); err != nil {
		return err
	}
	return identity.RevisionChanged.New("the object is not at the revision that If-Match names")
}

// only drops what a port returns beside its error.
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
