package identity

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// bindingCookie is the cookie that binds a sign-in at a provider to the browser that started it.
type bindingCookie struct {
	name  string
	cross bool // the provider's answer is posted from its own site
}

// bindingCookieOf returns one of two cookies. Their names differ, so that sign-ins of both protocols may be in
// progress at once.
func bindingCookieOf(crossSite bool) bindingCookie {
	if crossSite {
		return bindingCookie{name: "writ_saml", cross: true}
	}
	return bindingCookie{name: "writ_signin"}
}

// set returns the Set-Cookie line with a lifetime in seconds, empty if the browser cannot or must not store the
// cookie.
func (b bindingCookie) set(ctx context.Context, value string, seconds int) string {
	if b.cross {
		return httpapi.CrossSiteCookie(ctx, b.name, value, seconds)
	}
	return httpapi.ShortCookie(ctx, b.name, value, seconds)
}

// read returns the value of the cookie. unbound reports that the cookie was never set because the browser could not
// send it back: the connection allows cookies, but no cross-site ones.
func (b bindingCookie) read(r *http.Request) (value string, unbound bool) {
	if b.cross && !httpapi.MayCrossSites(r.Context()) {
		return "", httpapi.CookiesAllowed(r.Context())
	}
	return httpapi.CookieValue(r, b.name), false
}

// home is the address after a sign-in. It does not depend on the request.
const home = "/ui/"

// form is the media type of the answers of SAML providers.
const form = "application/x-www-form-urlencoded"

// disabled returns the fault of a provider that is not configured.
func disabled() error { return SignInDisabled.New("this install does not have this way to sign in") }

// begin redirects the browser to the provider.
func (h *handlers) begin(p identity.Provider) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := h.challenge(r, p)
		if err != nil {
			fail(w, r, err)
			return
		}
		if line := bindingCookieOf(c.CrossSite).
			set(r.Context(), c.Binding, int(identity.HandshakeTTL.Seconds())); line != "" {
			w.Header().Add("Set-Cookie", line)
		}
		w.Header().Set("Location", c.URL)
		w.WriteHeader(http.StatusFound)
	}
}

func (h *handlers) challenge(r *http.Request, p identity.Provider) (identity.Challenge, error) {
	switch {
	case !h.Providers.ready(p):
		return identity.Challenge{}, disabled()
	case !httpapi.CookiesAllowed(r.Context()):
		return identity.Challenge{}, insecure()
	}
	l, waits, err := program(r)
	if err != nil {
		return identity.Challenge{}, err
	}
	if err := h.Providers.Beginnings.Begin(r.Context()); err != nil {
		return identity.Challenge{}, err
	}
	c, err := p.Begin(r.Context())
	if err == nil && waits {
		err = h.Providers.Programs.Expect(r.Context(), c.State, l)
	}
	return c, err
}

func insecure() error {
	return InsecureConnection.New("signing in takes https: over this connection a browser may hold no session")
}

// reader reads a provider's answer, and the state in it.
type reader struct {
	answer func(*http.Request) (url.Values, error)
	state  string // the name of its parameter
}

// complete reads the provider's answer and opens a session. A program gets the token, a browser the cookie; cookies of
// earlier sessions are deleted. If a program on the browser's machine waits, the browser is sent there instead.
func (h *handlers) complete(p identity.Provider, b bindingCookie, read reader) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		binding, unbound := b.read(r)
		if binding != "" {
			w.Header().Add("Set-Cookie", b.set(ctx, "", -1))
		}
		w.Header().Add("Vary", "Accept")
		s, program, err := h.admit(r, p, read, binding, unbound)
		switch {
		case err != nil:
			fail(w, r, err)
		case program != "":
			w.Header().Set("Location", program)
			w.WriteHeader(http.StatusSeeOther)
		case httpapi.Accepts(r, "application/json"):
			if drop := httpapi.DropSession(ctx); drop != "" {
				w.Header().Add("Set-Cookie", drop)
			}
			httpapi.WriteJSON(w, r, http.StatusOK, sessionBody(s))
		default:
			w.Header().Add("Set-Cookie", httpapi.SessionCookie(ctx, s.Secret, s.Token.ExpiresAt))
			w.Header().Set("Location", home)
			w.WriteHeader(http.StatusSeeOther)
		}
	}
}

// admit returns the session, or the address of the program that waits for the sign-in.
func (h *handlers) admit(
	r *http.Request, p identity.Provider, read reader, binding string, unbound bool,
) (s identity.Session, program string, err error) {
	switch {
	case !h.Providers.ready(p):
		return s, "", disabled()
	case !httpapi.Accepts(r, "application/json") && !httpapi.CookiesAllowed(r.Context()):
		return s, "", insecure()
	}
	answer, err := read.answer(r)
	if err != nil {
		return s, "", identity.BadSignIn.New("the sign-in did not succeed").Because(err)
	}
	who, err := p.Complete(r.Context(), answer, binding, unbound)
	if err != nil {
		return s, "", err
	}
	program, err = h.Providers.Programs.Return(r.Context(), answer.Get(read.state), who)
	if err != nil || program != "" {
		return s, program, err
	}
	s, err = h.Providers.Federation.Admit(r.Context(), who)
	return s, "", err
}

// query reads an answer in the query of a redirect.
func query(r *http.Request) (url.Values, error) { return single(r.URL.RawQuery) }

// posted reads an answer in a posted form. It ignores the query.
func posted(r *http.Request) (url.Values, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, errors.New("the form could not be read")
	}
	return single(string(body))
}

// single refuses a parameter with two values, because two readers could use different ones.
func single(encoded string) (url.Values, error) {
	v, err := url.ParseQuery(encoded)
	if err != nil {
		return nil, errors.New("the parameters are malformed")
	}
	for name, values := range v {
		switch {
		case len(values) > 1:
			return nil, errors.New("a parameter is given twice")
		case !utf8.ValidString(name + values[0]), strings.ContainsRune(name+values[0], 0):
			return nil, errors.New("a parameter holds a NUL character or is not UTF-8")
		}
	}
	return v, nil
}

func (h *handlers) metadata(w http.ResponseWriter, r *http.Request) {
	m, ok := h.Providers.SAML.(identity.Metadata)
	if !ok || !h.Providers.ready(h.Providers.SAML) {
		fail(w, r, disabled())
		return
	}
	xml, err := m.Metadata(r.Context())
	if err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/samlmetadata+xml")
	_, _ = w.Write(xml)
}

// once refuses HEAD requests of link checkers, which would use up a sign-in.
func once(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Allow", http.MethodGet)
			httpapi.Refuse(w, r, http.StatusMethodNotAllowed, "method_not_allowed", "this path does not take HEAD")
			return
		}
		next(w, r)
	}
}

func (h *handlers) providerRoutes(r *httpapi.Router) {
	refused := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
		http.StatusServiceUnavailable}
	started := []int{http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	const answers = "Answers the token to Accept: application/json; a browser gets the session as a cookie and is sent " +
		"to /ui/ with 303, or to the program that waits for the sign-in."
	login := func(path, id, summary string, p identity.Provider) {
		r.Raw(httpapi.Route{
			Method: http.MethodGet, Path: path, ID: id, Tag: tag, Summary: summary, Access: httpapi.Public(), Session: true,
			Description: "At most a hundred a minute from one address, else 429. With cli, challenge and state the sign-in is " +
				"handed to a program on the browser's machine (see /v1/auth/exchange).",
			Status: http.StatusFound, Errors: started,
		}, once(h.begin(p)))
	}
	login("/auth/oidc/login", "begin-oidc", "Begin a sign-in at the OpenID Connect provider", h.Providers.OIDC)
	login("/auth/saml/login", "begin-saml", "Begin a sign-in at the SAML provider", h.Providers.SAML)
	r.Raw(httpapi.Route{
		Method: http.MethodGet, Path: "/auth/oidc/callback", ID: "complete-oidc", Action: audit.AuthLogin, Tag: tag,
		Summary: "Complete a sign-in at the OpenID Connect provider", Description: answers, Access: httpapi.Public(),
		Session: true,
		Status:  http.StatusOK, Example: exampleSession(), Errors: refused,
	}, once(h.complete(h.Providers.OIDC, bindingCookieOf(false), reader{query, "state"})))
	r.Raw(httpapi.Route{
		Method: http.MethodPost, Path: "/auth/saml/acs", ID: "complete-saml", Action: audit.AuthLogin, Tag: tag,
		Summary:     "Receive the SAML provider's assertion",
		Description: answers, Access: httpapi.Public(), Session: true, Consumes: form, Status: http.StatusOK,
		Example: exampleSession(),
		Request: "SAMLResponse=PHNhbWxwOlJlc3BvbnNlLz4%3D&RelayState=", Errors: refused,
	}, h.complete(h.Providers.SAML, bindingCookieOf(true), reader{posted, "RelayState"}))
	r.Raw(httpapi.Route{
		Method: http.MethodGet, Path: "/auth/saml/metadata", ID: "read-saml-metadata", Tag: tag,
		Description: "For the administrator of the identity provider. 404 where the install has no SAML provider.",
		Summary:     "Read the service provider's SAML metadata", Access: httpapi.Public(), Status: http.StatusOK,
		Produces: "application/samlmetadata+xml", Example: "<EntityDescriptor/>", Errors: []int{http.StatusNotFound},
	}, http.HandlerFunc(h.metadata))
}
