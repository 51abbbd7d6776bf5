package auth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
)

// start is where a sign-in leads that came from no page.
const start = "/ui/"

// The names of the forms of the sign-in: the operation that each of them calls.
const (
	passwordForm = "sign-in"
	tokenForm    = "mint-token"
)

// tokenSession is how long a session lasts that was opened with a token, in seconds: as long as one by password.
const tokenSession = 12 * 60 * 60

// signInView is what the page of the sign-in shows.
type signInView struct {
	page, next string
	oidc, saml bool
	insecure   bool // the connection may hold no session
	byToken    bool // the form for a token is open
}

func (h *handlers) login(r *shell.Request) (*shell.Page, error) {
	next := shell.Inside(r.URL.Query().Get("next"), start)
	if r.Viewer.Open || r.Viewer.SignedIn() {
		return nil, shell.Redirect(next)
	}
	v := signInView{page: pageOf(next), next: next, oidc: h.OIDC != nil, saml: h.SAML != nil,
		insecure: !httpapi.CookiesAllowed(r.Context()), byToken: r.Refused(tokenForm) != nil}
	if next != start && (v.oidc || v.saml) {
		r.KeepNext(next)
	}
	return &shell.Page{Title: signInTitle, Bare: true, Class: "signin", Body: signInPage(v)}, nil
}

func pageOf(next string) string {
	if next == start {
		return "/ui/login"
	}
	return "/ui/login?next=" + url.QueryEscape(next)
}

// signIn opens a session by password. The session is opened by the API's operation, and only its cookie goes to the
// browser.
func (h *handlers) signIn(r *shell.Request) (*shell.Page, error) {
	form, err := visitorForm(r)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]string{"username": form.Get("username"), "password": form.Get("password")})
	if err != nil {
		return nil, err //nolint:wrapcheck // texts are JSON
	}
	return h.open(r, passwordForm, httpapi.Call{Method: http.MethodPost, Path: "/v1/auth/login", Body: body})
}

// signInByToken makes a token of the pasted one and opens a session with it. The new one has the limits of the pasted
// one, ends with it, and is what a sign-out revokes.
func (h *handlers) signInByToken(r *shell.Request) (*shell.Page, error) {
	form, err := visitorForm(r)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"name": browserToken, "expires_in": tokenSession})
	if err != nil {
		return nil, err //nolint:wrapcheck // a constant
	}
	return h.open(r, tokenForm, httpapi.Call{Method: http.MethodPost, Path: "/v1/tokens", Body: body,
		Header: http.Header{"Authorization": {"Bearer " + strings.TrimSpace(form.Get("token"))}}})
}

// visitorForm reads the form of a visitor, which only a page of this server may post.
func visitorForm(r *shell.Request) (url.Values, error) {
	if err := r.SameOrigin(); err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	return r.Form() //nolint:wrapcheck // a fault
}

// open makes the call and gives the browser the session in its answer.
func (h *handlers) open(r *shell.Request, form string, c httpapi.Call) (*shell.Page, error) {
	if !httpapi.CookiesAllowed(r.Context()) {
		return nil, r.Again(form, &httpapi.Problem{Status: http.StatusForbidden, Text: insecureText})
	}
	a := r.Call(c)
	if !a.OK() {
		return nil, r.Again(form, refusal(form, a))
	}
	var s struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	if err := json.Unmarshal(a.Body, &s); err != nil {
		return nil, err //nolint:wrapcheck // an answer of the API
	}
	r.Writer.Header().Add("Set-Cookie", httpapi.SessionCookie(r.Context(), s.Token, s.ExpiresAt))
	return nil, shell.Redirect(shell.Inside(r.PostForm.Get("_next"), start))
}

// refusal says in words of the page why nobody was signed in.
func refusal(form string, a httpapi.Answer) *httpapi.Problem {
	p := shell.Problem(a)
	switch {
	case p.Status == http.StatusTooManyRequests:
		p.Text = laterText(a.Header.Get("Retry-After"))
	case p.Status == http.StatusUnauthorized && form == tokenForm:
		p.Text = badTokenText
	case p.Status == http.StatusUnauthorized:
		p.Text = badPasswordText
	case p.Status == http.StatusForbidden && form == tokenForm:
		p.Text = limitedTokenText
	}
	return p
}

func (h *handlers) signOut(r *shell.Request) (*shell.Page, error) {
	if r.Viewer.SignedIn() && !r.Viewer.Open {
		a := r.Call(httpapi.Call{Method: http.MethodPost, Path: "/v1/auth/logout"})
		if !a.OK() {
			return nil, shell.Problem(a)
		}
		for _, line := range a.Header.Values("Set-Cookie") {
			r.Writer.Header().Add("Set-Cookie", line)
		}
	}
	return nil, shell.Redirect("/ui/login")
}
