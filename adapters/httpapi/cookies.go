package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/identity"
)

// sessionCookie is the cookie that holds a browser's session token.
const sessionCookie = "writ_session"

// jar describes how the connection of a request may hold cookies. Only the configuration, the connection itself and a
// trusted proxy decide; headers of other peers are not used, since anyone can send them.
type jar struct {
	// usable is false for plain http beyond loopback, where anyone on the path could read a cookie: it is neither set
	// nor read.
	usable bool
	// secure means that the browser uses TLS. Cookies are then Secure, and their names have the prefix that prevents
	// other hosts and plain http from setting them.
	secure bool
	// relayed means that an untrusted peer sent proxy headers. The peer is then a proxy, and a loopback address of it
	// is no evidence about the client.
	relayed bool
}

func jarOf(c Config, r *http.Request, clientIP string) jar {
	secure := strings.HasPrefix(c.PublicURL, "https://") || r.TLS != nil || forwardedTLS(c, r)
	relayed := isRelayed(c, r)
	return jar{
		secure: secure, relayed: relayed,
		usable: secure || c.InsecureCookies || !relayed && loopback(r.Host) && loopback(clientIP),
	}
}

// isRelayed reports whether an untrusted peer sent proxy headers. A proxy that replaces the Host header makes a request
// from anywhere look like a local one.
func isRelayed(c Config, r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if len(r.Header.Values(name)) > 0 {
			peer, ok := peerOf(r)
			return !ok || !contains(c.TrustedProxies, peer)
		}
	}
	return false
}

// forwardedTLS reports whether a trusted proxy states that its client uses TLS.
func forwardedTLS(c Config, r *http.Request) bool {
	protos := r.Header.Values("X-Forwarded-Proto")
	if len(protos) != 1 || !strings.EqualFold(strings.TrimSpace(protos[0]), "https") {
		return false
	}
	peer, ok := peerOf(r)
	return ok && contains(c.TrustedProxies, peer)
}

func (j jar) name(plain string) string {
	if j.secure {
		return "__Host-" + plain
	}
	return plain
}

// find returns the value of a cookie. This server never sets two cookies of one name: ok is then false.
func (j jar) find(r *http.Request, plain string) (value string, ok bool) {
	if !j.usable {
		return "", true
	}
	switch found := r.CookiesNamed(j.name(plain)); len(found) {
	case 0:
		return "", true
	case 1:
		return found[0].Value, true
	default:
		return "", false
	}
}

func (j jar) make(plain, value string) *http.Cookie {
	return &http.Cookie{
		Name: j.name(plain), Value: value, Path: "/", Secure: j.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// CookiesAllowed reports whether the connection of ctx's request may hold cookies: over TLS, on loopback, or where the
// install allows them in clear.
func CookiesAllowed(ctx context.Context) bool { return requestOf(ctx).jar.usable }

// SessionCookie returns the Set-Cookie line of a session for ctx's browser until it expires. It is empty if the
// connection may not hold cookies.
func SessionCookie(ctx context.Context, secret string, expires time.Time) string {
	j := requestOf(ctx).jar
	if !j.usable {
		return ""
	}
	c := j.make(sessionCookie, secret)
	c.Expires = expires
	return c.String()
}

// LoopbackSession returns the session cookie for a browser on this machine that uses plain http.
func LoopbackSession(secret string, expires time.Time) *http.Cookie {
	c := jar{usable: true}.make(sessionCookie, secret)
	c.Expires = expires
	return c
}

// DropSession returns the Set-Cookie line that deletes the session cookie of ctx's request. It is empty if the request
// had none. A session ends with the next sign-in or sign-out.
func DropSession(ctx context.Context) string {
	st := requestOf(ctx)
	if !st.hasSession {
		return ""
	}
	c := st.jar.make(sessionCookie, "")
	c.MaxAge = -1
	return c.String()
}

// ShortCookie returns the Set-Cookie line of a cookie for so many seconds, under the same rules as a session's; a
// negative age deletes it. It is empty if the connection may not hold cookies.
func ShortCookie(ctx context.Context, name, value string, seconds int) string {
	j := requestOf(ctx).jar
	if !j.usable {
		return ""
	}
	c := j.make(name, value)
	c.MaxAge = seconds
	return c.String()
}

// MayCrossSites reports whether ctx's browser can send a cookie with a form that another site posts. This needs
// SameSite=None, which browsers accept only over TLS.
func MayCrossSites(ctx context.Context) bool { return requestOf(ctx).jar.secure }

// CrossSiteCookie is ShortCookie for a cookie that is also sent with requests from other sites: for values that
// identify the browser and grant nothing. It is empty if MayCrossSites is false.
func CrossSiteCookie(ctx context.Context, name, value string, seconds int) string {
	j := requestOf(ctx).jar
	if !j.secure {
		return ""
	}
	c := j.make(name, value)
	c.SameSite, c.MaxAge = http.SameSiteNoneMode, seconds
	return c.String()
}

// CookieValue returns the value that ShortCookie or CrossSiteCookie set. It is empty if the cookie is missing, is
// present twice, or if the connection may not hold cookies.
func CookieValue(r *http.Request, name string) string {
	value, _ := requestOf(r.Context()).jar.find(r, name)
	return value
}

// origins refuses writes that a page of another origin may have sent.
type origins struct {
	cross  *http.CrossOriginProtection
	public string // scheme and host, empty where unknown
}

// newOrigins trusts the pages of the public address, whose host a proxy may have replaced in the request.
func newOrigins(public string) (*origins, error) {
	o := &origins{cross: http.NewCrossOriginProtection()}
	if public == "" {
		return o, nil
	}
	u, err := url.Parse(public)
	if err != nil || u.Host == "" {
		return nil, errors.New("httpapi: the public address names no host")
	}
	o.public = u.Scheme + "://" + u.Host
	if err := o.cross.AddTrustedOrigin(o.public); err != nil {
		return nil, errors.New("httpapi: the public address is not an origin")
	}
	return o, nil
}

// check requires that a write with a cookie comes from the server's own origin. Every current browser sends
// Sec-Fetch-Site or Origin with a write; a write without both is refused as well, since no page of this server sends
// it. Origin alone does not prove the same scheme, which matters where cookies need TLS.
func (o *origins) check(r *http.Request, j jar) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	switch {
	case site == "" && origin == "",
		site == "" && j.secure && origin != o.public && !strings.HasPrefix(origin, "https://"),
		o.cross.Check(r) != nil:
		return CrossOrigin.New("a write with the session cookie must come from a page of this server")
	}
	return nil
}

// presented returns the token of a request: from the Authorization header, else from the session cookie. An open
// install ignores cookies and takes any other Authorization header for no token.
func (r *Router) presented(req *http.Request, st *request) (token string, cookie bool, err error) {
	if len(req.Header.Values("Authorization")) > 0 || r.config.Open {
		if token, err = bearer(req.Header); r.config.Open {
			err = nil
		}
		return token, false, err
	}
	token, ok := st.jar.find(req, sessionCookie)
	if !ok {
		return "", false, identity.BadToken.New("the session cookie is given twice")
	}
	return token, token != "", nil
}

// Presented returns the token that ctx's request presents by header or session cookie, empty for none: for public
// operations that check it themselves. The error is BadToken for a malformed header, and CrossOrigin as for any write.
func Presented(ctx context.Context) (string, error) {
	if p := requestOf(ctx).presented; p != nil {
		return p()
	}
	return "", nil
}

// Caller returns the caller of ctx's request as operations that need a caller identify it, for public operations that
// show it.
func (r *Router) Caller(ctx context.Context) (identity.Principal, error) {
	token, err := Presented(ctx)
	if err != nil {
		return identity.Principal{}, err
	}
	return r.authn.Authenticate(ctx, token)
}
