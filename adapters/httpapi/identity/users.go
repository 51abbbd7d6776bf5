package identity

import (
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
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

func (b ProfileBody) profile() identity.Profile { return identity.Profile(b) }

// LinkBody ties an account to an identity of an outside provider.
type LinkBody struct {
	Protocol identity.Protocol `json:"protocol" enum:"oidc,saml"`
	Issuer   string            `json:"issuer"`
	Subject  string            `json:"subject"`
}

func links(list []LinkBody) []identity.Link {
	return httpapi.Rows(list, func(b LinkBody) identity.Link { return identity.Link(b) })
}

// NewAccountBody is a request for an account.
type NewAccountBody struct {
	Username string            `json:"username" minLength:"1" maxLength:"64"`
	Role     string            `json:"role" enum:"viewer,operator,admin"`
	Password identity.Password `json:"password,omitempty" minLength:"12" maxLength:"1024" doc:"The account has no password if absent."`
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
	return AccountBody{
		Stamps: httpapi.Stamps{ID: a.ID, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt}, Username: a.Username,
		Role: string(a.Role), ProfileBody: ProfileBody(a.Profile),
		AccountState: AccountState{HasPassword: a.HasPassword, ConfirmedAt: httpapi.When(a.ConfirmedAt)},
		Identities:   httpapi.Rows(a.Identities, func(l identity.Link) LinkBody { return LinkBody(l) }),
	}
}

func (b *NewAccountBody) account() identity.NewAccount {
	return identity.NewAccount{
		Username: b.Username, Role: identity.Role(b.Role), Password: b.Password, Profile: b.profile(),
		Identities: links(b.Identities),
	}
}

// AccountList lists accounts by user name.
type AccountList struct {
	Users []AccountBody `json:"users"`
	httpapi.Listed
}

func accountList(rows []AccountBody, l httpapi.Listed) AccountList { return AccountList{rows, l} }

func (h *handlers) accounts(r *httpapi.Router) {
	k := httpapi.Kind[identity.Account, AccountBody]{
		Path: "/v1/users", Noun: "user", Tag: tag, Read: httpapi.Needs("user", "read"),
		Write: httpapi.Needs("user", "write"), Example: exampleAccount(), Request: exampleChange(), InUse: true,
		Body: accountBody, Record: func(a identity.Account) object.Record {
			return object.Record{ID: a.ID, CreatedAt: a.CreatedAt, Revision: a.Revision}
		},
	}
	create := k.Create(audit.UserCreate, "Create an account",
		"It has no token yet; it signs in by its password or through a provider. A password takes a recent sign-in of "+
			"the caller: a session, or a token that rests on a sign-in of the last hour.")
	create.Request, create.Errors = exampleNewAccount(), []int{http.StatusConflict}
	httpapi.Handle(r, create, httpapi.Creator(k, (*NewAccountBody).account, h.Accounts.Create))
	httpapi.HandleList(r, k.List("List accounts with their profiles", "Ordered by name. For admins alone."),
		accountList, accountBody, unfiltered(h.Accounts.List), k.Example)
	httpapi.Handle(r, k.Get("Read one account", "For admins alone; everybody reads the own account at /v1/auth/me."),
		k.Getter(h.Accounts.Get))
	httpapi.Handle(r, k.Update(audit.UserUpdate, "Change an account",
		"The profile is replaced as a whole: an omitted field of it clears. An omitted username, role, password or "+
			"identities stays. A new password ends the account's sessions and the tokens that it made for itself, a lower "+
			"role all of its tokens, a higher one its sessions. A password takes a recent sign-in of the caller."),
		httpapi.Updater(k, h.Accounts.Get, (*ChangedAccountBody).change, h.Accounts.Update))
	httpapi.Handle(r, k.Delete(audit.UserDelete, "Delete an account with its tokens, memberships and grants",
		"The last admin cannot be deleted. What the account did stays in the trail."), httpapi.Deleter(h.Accounts.Delete))
}
