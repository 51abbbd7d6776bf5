package identity

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// ProfileBody describes an account to people and grants nothing. Only admins read it.
type ProfileBody struct {
	FullName string   `json:"full_name,omitempty" maxLength:"320"`
	Email    string   `json:"email,omitempty" maxLength:"320"`
	Phone    string   `json:"phone,omitempty" maxLength:"320"`
	Title    string   `json:"title,omitempty" maxLength:"320"`
	Links    []string `json:"links,omitempty" maxItems:"8" doc:"http and https addresses."`
	Notes    string   `json:"notes,omitempty" maxLength:"2000"`
}

func (b ProfileBody) profile() identity.Profile {
	return identity.Profile{FullName: b.FullName, Email: b.Email, Phone: b.Phone, Title: b.Title, Links: b.Links,
		Notes: b.Notes}
}

// LinkBody ties an account to an identity of an outside provider.
type LinkBody struct {
	Protocol string `json:"protocol" enum:"oidc,saml"`
	Issuer   string `json:"issuer"`
	Subject  string `json:"subject"`
}

func links(list []LinkBody) []identity.Link {
	out := make([]identity.Link, 0, len(list))
	for _, l := range list {
		out = append(out, identity.Link{Protocol: identity.Protocol(l.Protocol), Issuer: l.Issuer, Subject: l.Subject})
	}
	return out
}

// NewAccountBody is a request for an account.
type NewAccountBody struct {
	Username string            `json:"username" minLength:"1" maxLength:"64"`
	Role     string            `json:"role" enum:"viewer,operator,admin"`
	Password identity.Password `json:"password,omitempty" minLength:"12" maxLength:"1024" doc:"Nobody signs in by password where absent."`
	ProfileBody
	Identities []LinkBody `json:"identities,omitempty" maxItems:"16"`
}

// ChangedAccountBody replaces an account's profile and those other fields that are present.
type ChangedAccountBody struct {
	httpapi.Stamps
	AccountState
	Username *string            `json:"username,omitempty" minLength:"1" maxLength:"64"`
	Role     *string            `json:"role,omitempty" enum:"viewer,operator,admin"`
	Password *identity.Password `json:"password,omitempty" minLength:"12" maxLength:"1024" doc:"Ends the account's sessions and the tokens that it made for itself."`
	ProfileBody
	Identities *[]LinkBody `json:"identities,omitempty" maxItems:"16"`
}

func (b *ChangedAccountBody) change() identity.AccountChange {
	c := identity.AccountChange{Username: b.Username, Password: b.Password, Profile: b.profile()}
	if b.Role != nil {
		role := identity.Role(*b.Role)
		c.Role = &role
	}
	if b.Identities != nil {
		list := links(*b.Identities)
		c.Identities = &list
	}
	return c
}

// AccountState holds the read-only fields of an account.
type AccountState struct {
	HasPassword bool       `json:"has_password" readOnly:"true"`
	ConfirmedAt *time.Time `json:"confirmed_at,omitempty" readOnly:"true" doc:"The last sign-in at a provider; absent for none."`
}

// AccountBody is a complete account, for admins.
type AccountBody struct {
	httpapi.Stamps
	Username string `json:"username"`
	Role     string `json:"role" enum:"viewer,operator,admin"`
	ProfileBody
	AccountState
	Identities []LinkBody `json:"identities"`
}

func accountBody(a identity.Account) AccountBody {
	b := AccountBody{
		Stamps: httpapi.Stamps{ID: a.ID, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt}, Username: a.Username,
		Role:         string(a.Role),
		AccountState: AccountState{HasPassword: a.HasPassword, ConfirmedAt: when(a.ConfirmedAt)},
		ProfileBody: ProfileBody{
			FullName: a.Profile.FullName, Email: a.Profile.Email, Phone: a.Profile.Phone, Title: a.Profile.Title,
			Links: a.Profile.Links, Notes: a.Profile.Notes,
		},
		Identities: make([]LinkBody, 0, len(a.Identities)),
	}
	for _, l := range a.Identities {
		b.Identities = append(b.Identities, LinkBody{Protocol: string(l.Protocol), Issuer: l.Issuer, Subject: l.Subject})
	}
	return b
}

func account(a identity.Account, err error) (*httpapi.ObjectOutput[AccountBody], error) {
	if err != nil {
		return nil, err
	}
	return &httpapi.ObjectOutput[AccountBody]{ETag: httpapi.ETag(a.Revision), Body: accountBody(a)}, nil
}

func (h *handlers) createAccount(
	ctx context.Context, in *httpapi.NewInput[NewAccountBody],
) (*httpapi.NewObjectOutput[AccountBody], error) {
	out, err := account(h.Accounts.Create(ctx, identity.NewAccount{
		Username: in.Body.Username, Role: identity.Role(in.Body.Role), Password: in.Body.Password, Profile: in.Body.profile(),
		Identities: links(in.Body.Identities),
	}))
	if err != nil {
		return nil, err
	}
	return &httpapi.NewObjectOutput[AccountBody]{Location: "/v1/users/" + out.Body.ID, ETag: out.ETag, Body: out.Body}, nil
}

func (h *handlers) getAccount(ctx context.Context, in *httpapi.IDInput) (*httpapi.ObjectOutput[AccountBody], error) {
	return account(h.Accounts.Get(ctx, in.ID))
}

func (h *handlers) updateAccount(
	ctx context.Context, in *httpapi.ChangeInput[ChangedAccountBody],
) (*httpapi.ObjectOutput[AccountBody], error) {
	sent := httpapi.Record{Stamps: in.Body.Stamps}
	err := sent.Unchanged(in.ID, func() (httpapi.Record, error) {
		a, err := h.Accounts.Get(ctx, in.ID)
		return httpapi.Record{Stamps: httpapi.Stamps{CreatedAt: a.CreatedAt}}, err
	})
	if err != nil {
		return nil, err
	}
	return account(h.Accounts.Update(ctx, in.ID, in.IfMatch.Revision(), in.Body.change()))
}

func (h *handlers) deleteAccount(ctx context.Context, in *httpapi.DeleteInput) (*httpapi.NoOutput, error) {
	return &httpapi.NoOutput{}, h.Accounts.Delete(ctx, in.ID, in.IfMatch.Revision())
}

// AccountList lists accounts by user name.
type AccountList struct {
	Users []AccountBody `json:"users"`
	httpapi.Listed
}

func (h *handlers) listAccounts(ctx context.Context, in *ListInput) (*httpapi.ListOutput[AccountList], error) {
	list, total, err := h.Accounts.List(ctx, in.Page())
	if err != nil {
		return nil, err
	}
	rows, listed := httpapi.List(list, total, in.Window, accountBody)
	return &httpapi.ListOutput[AccountList]{Body: AccountList{Users: rows, Listed: listed}}, nil
}

func (h *handlers) accounts(r *httpapi.Router) {
	read, write := httpapi.Needs("user", "read"), httpapi.Needs("user", "write")
	changed := []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed,
		http.StatusServiceUnavailable}
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/users", ID: "create-user", Action: audit.UserCreate, Tag: tag,
		Description: "It has no token yet; it signs in by its password or through a provider. A password takes a recent sign-in of the " +
			"caller: a session, or a token that rests on a sign-in of the last hour.",
		Summary: "Create an account", Access: write,
		Status: http.StatusCreated, Example: exampleAccount(), Request: exampleNewAccount(),
		Errors: []int{http.StatusConflict, http.StatusServiceUnavailable},
	}, h.createAccount)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/users", ID: "list-users", Tag: tag, Summary: "List accounts with their profiles",
		Access:      read,
		Description: "Ordered by name. For admins alone.",
		Status:      http.StatusOK, Errors: listStatuses(),
		Example: AccountList{Users: []AccountBody{exampleAccount()}, Listed: httpapi.ExampleListed()},
	}, h.listAccounts)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/users/{id}", ID: "get-user", Tag: tag, Summary: "Read one account", Access: read,
		Description: "For admins alone; everybody reads the own account at /v1/auth/me.",
		Status:      http.StatusOK, Example: exampleAccount(), Errors: getStatuses(),
	}, h.getAccount)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: "/v1/users/{id}", ID: "update-user", Action: audit.UserUpdate, Tag: tag,
		Summary: "Change an account", Access: write,
		Description: "The profile is replaced as a whole: an omitted field of it clears. An omitted username, role, password or " +
			"identities stays. A new password ends the account's sessions and the tokens that it made for itself, a lower role all " +
			"of its tokens, a higher one its sessions. A password takes a recent sign-in of the caller.",
		Status: http.StatusOK, Example: exampleAccount(), Request: exampleChange(), Errors: changed,
	}, h.updateAccount)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodDelete, Path: "/v1/users/{id}", ID: "delete-user", Action: audit.UserDelete, Tag: tag,
		Description: "The last admin cannot be deleted. What the account did stays in the trail.",
		Summary:     "Delete an account with its tokens, memberships and grants", Access: write, Status: http.StatusNoContent,
		Errors: changed,
	}, h.deleteAccount)
}
