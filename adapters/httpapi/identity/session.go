package identity

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// UserBody is the public part of an account.
type UserBody struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Role     string `json:"role" enum:"viewer,operator,admin"`
}

func userBody(u identity.User) UserBody {
	return UserBody{ID: u.ID, Username: u.Username, Role: string(u.Role)}
}

// LoginBody is a sign-in by password.
type LoginBody struct {
	Username string            `json:"username"`
	Password identity.Password `json:"password"`
	Cookie   bool              `json:"cookie,omitempty" doc:"Also set the session as a cookie, for a page of this server."`
}

// maxLogin limits the body of a sign-in, which anyone may send before anything is counted.
const maxLogin = 4 << 10

// LoginInput is the request with a LoginBody.
type LoginInput struct {
	Site string `header:"Sec-Fetch-Site" doc:"Set by browsers: only same-origin gets a cookie."`
	Body LoginBody
}

// SessionBody is a new session.
type SessionBody struct {
	Token     string    `json:"token" doc:"The bearer token, shown only here."`
	ExpiresAt time.Time `json:"expires_at"`
	User      UserBody  `json:"user"`
}

func sessionBody(s identity.Session) SessionBody {
	return SessionBody{Token: s.Secret, ExpiresAt: s.Token.ExpiresAt, User: userBody(s.User)}
}

// SessionOutput is the answer with a session.
type SessionOutput struct {
	Cookie string `header:"Set-Cookie"`
	Body   SessionBody
}

// login answers with the token and deletes the browser's cookie of an earlier session. Only a page of this server may
// request a cookie: another page could sign in its visitor to any account.
func (h *handlers) login(ctx context.Context, in *LoginInput) (*SessionOutput, error) {
	s, err := h.SignIn.Login(ctx, in.Body.Username, in.Body.Password)
	if err != nil {
		return nil, err
	}
	out := &SessionOutput{Cookie: httpapi.DropSession(ctx), Body: sessionBody(s)}
	if in.Body.Cookie && in.Site == "same-origin" && httpapi.CookiesAllowed(ctx) {
		out.Cookie = httpapi.SessionCookie(ctx, s.Secret, s.Token.ExpiresAt)
	}
	return out, nil
}

// CheckBody names the token to check.
type CheckBody struct {
	Token string `json:"token,omitempty" doc:"The token to check; the token of the request if absent."`
}

// CheckInput is the request with the token to check; the body may be absent.
type CheckInput struct{ Body *CheckBody }

// CheckedBody is the result of a check.
type CheckedBody struct {
	Valid     bool       `json:"valid"`
	Kind      string     `json:"kind,omitempty" enum:"api,session"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"Absent where it never expires."`
	LimitsBody
	User *UserBody `json:"user,omitempty"`
}

// check reports whether a token in the body is valid. A token that the request presents is also its credential, and an
// invalid one is refused as on all routes. In an open install every request is the admin's.
func (h *handlers) check(ctx context.Context, in *CheckInput, r *httpapi.Router) (*httpapi.Output[CheckedBody], error) {
	named := in.Body != nil && in.Body.Token != ""
	if !named && r.Config().Open {
		p, err := r.Caller(ctx)
		user := userBody(p.User)
		return &httpapi.Output[CheckedBody]{Body: CheckedBody{Valid: true, User: &user}}, err
	}
	var token string
	var err error
	if named {
		token = in.Body.Token
	} else if token, err = httpapi.Presented(ctx); err != nil {
		return nil, err
	}
	t, u, err := h.SignIn.Check(ctx, token)
	switch {
	case err != nil && named && identity.BadToken.Is(err):
		return &httpapi.Output[CheckedBody]{}, nil
	case err != nil:
		return nil, err
	}
	user := userBody(u)
	return &httpapi.Output[CheckedBody]{Body: CheckedBody{
		Valid: true, Kind: string(t.Kind), ExpiresAt: httpapi.When(t.ExpiresAt), LimitsBody: limitsBody(t), User: &user,
	}}, nil
}

// OwnTeamBody is a team of the caller.
type OwnTeamBody struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// OwnOrgBody is an organization of the caller.
type OwnOrgBody struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role" enum:"member,admin"`
}

// MeBody is the caller as the server resolved it.
type MeBody struct {
	User        UserBody      `json:"user"`
	Role        string        `json:"role"`
	Token       *TokenBody    `json:"token,omitempty" doc:"The token that the call presents; absent in open mode."`
	Teams       []OwnTeamBody `json:"teams"`
	Orgs        []OwnOrgBody  `json:"orgs"`
	Permissions []string      `json:"permissions" doc:"What the role and the token's scopes allow, as kind:act like each operation's x-access; * stands for any."`
	Open        bool          `json:"open" doc:"The install asks for no tokens."`
}

func meBody(m identity.Me) MeBody {
	b := MeBody{
		User: userBody(m.User), Role: string(m.User.Role), Open: m.Open,
		Teams: httpapi.Rows(m.Teams, func(t identity.Team) OwnTeamBody { return OwnTeamBody{ID: t.ID, Name: t.Name} }),
		Orgs: httpapi.Rows(m.Orgs, func(o identity.Membership) OwnOrgBody {
			return OwnOrgBody{ID: o.ID, Name: o.Name, Role: string(o.Role)}
		}),
		Permissions: httpapi.Rows(m.Permissions, func(n identity.Need) string { return n.Kind + ":" + n.Act }),
	}
	if m.Token != nil {
		t := tokenBody(*m.Token)
		b.Token = &t
	}
	return b
}

func (h *handlers) me(ctx context.Context, _ *struct{}) (*httpapi.Output[MeBody], error) {
	return httpapi.Show(meBody)(h.Self.Me(ctx))
}

// PasswordBody changes the caller's password.
type PasswordBody struct {
	Current identity.Password `json:"current,omitempty" doc:"Absent if the account has none."`
	New     identity.Password `json:"new" minLength:"12" maxLength:"1024"`
}

// PasswordInput is the request with a PasswordBody.
type PasswordInput struct{ Body PasswordBody }

// OwnBody is the caller's account.
type OwnBody struct {
	User UserBody `json:"user"`
}

func (h *handlers) password(ctx context.Context, in *PasswordInput) (*httpapi.Output[OwnBody], error) {
	if err := h.SignIn.ChangePassword(ctx, in.Body.Current, in.Body.New); err != nil {
		return nil, err
	}
	p, _ := identity.From(ctx)
	return &httpapi.Output[OwnBody]{Body: OwnBody{User: userBody(p.User)}}, nil
}

// LogoutOutput is the empty answer that deletes the cookie.
type LogoutOutput struct {
	Cookie string `header:"Set-Cookie"`
}

func (h *handlers) logout(ctx context.Context, _ *struct{}) (*LogoutOutput, error) {
	if err := h.SignIn.Logout(ctx); err != nil {
		return nil, err
	}
	return &LogoutOutput{Cookie: httpapi.DropSession(ctx)}, nil
}

func self(act string) httpapi.Access { return httpapi.Needs("account", act) }

func (h *handlers) sessions(r *httpapi.Router) {
	slow := []int{http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/auth/login", ID: "sign-in", Action: audit.AuthLogin, Tag: tag,
		Summary: "Sign in by password",
		Description: "The answer is 429 after ten failures a minute of one account from one address, or a hundred from " +
			"one address. With cookie " +
			"set, a page of this server (Sec-Fetch-Site: same-origin) also gets the session as a cookie, if the connection " +
			"allows one.",
		Access: httpapi.Public(), Session: true, Status: http.StatusOK, Example: exampleSession(), Request: exampleLogin(),
		MaxBody: maxLogin,
		Errors:  slow,
	}, h.login)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/auth/check", ID: "check-token", Tag: tag,
		Summary: "Check a token and read its owner",
		Description: "A bad token in the body answers valid false; without one the request's own token is checked, and a " +
			"bad one is 401. An open install answers the admin there.",
		Access: httpapi.Public(), Harmless: true, Status: http.StatusOK, Example: exampleChecked(),
		Request: CheckBody{Token: exampleSecret}, Errors: []int{http.StatusUnauthorized, http.StatusForbidden},
	}, func(ctx context.Context, in *CheckInput) (*httpapi.Output[CheckedBody], error) {
		return h.check(ctx, in, r)
	})
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/auth/me", ID: "read-me", Tag: tag, Summary: "Read the caller's account",
		Description: "With its role, its teams and organizations, the token that it presented, and whether the install " +
			"asks for none.",
		Access: self("read"), Status: http.StatusOK, Example: exampleMe(), Errors: []int{http.StatusServiceUnavailable},
	}, h.me)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPut, Path: "/v1/auth/me/password", ID: "change-password", Action: audit.UserPassword, Tag: tag,
		Summary: "Change the own password",
		Description: "Ends the account's other sessions and the tokens that it made for itself. The first password " +
			"takes a recent sign-in: a session, or a token that " +
			"rests on a sign-in of the last hour.", Access: self("password"), Status: http.StatusOK,
		Example: OwnBody{User: exampleUser()},
		Request: map[string]string{"current": "<CURRENT_PASSWORD>", "new": "<NEW_LONG_PASSWORD>"}, Errors: slow,
	}, h.password)
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodPost, Path: "/v1/auth/logout", ID: "sign-out", Action: audit.AuthLogout, Tag: tag,
		Description: "The session's cookie is cleared in the answer.",
		Summary:     "End the own session, revoking its token",
		Access:      self("logout"), Session: true, Status: http.StatusNoContent,
		Errors: []int{http.StatusServiceUnavailable},
	}, h.logout)
}
