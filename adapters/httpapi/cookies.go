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

// jar says how the connection of a request may hold cookies. Only the configuration, the connection itself and a
// trusted proxy decide: a header of anybody else's would let a stranger choose.
type jar struct {
	// usable: beyond loopback a cookie in clear is anybody's who listens, so that it is neither set nor read.
	usable bool
	// secure: the browser speaks TLS. Cookies are then Secure and their names carry the prefix that keeps other
	// hosts and plain http from setting them.
	secure bool
	// relayed: somebody who is no trusted proxy says that the request is another one's. The peer is then a proxy, and
	// its being on this machine says nothing about the client.
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

// isRelayed reports whether a peer that is no trusted proxy sends what proxies send. A proxy that replaces the Host
// header makes a request from anywhere look like one to this machine.
func isRelayed(c Config, r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if len(r.Header.Values(name)) > 0 {
			peer, ok := peerOf(r)
			return !ok || !contains(c.TrustedProxies, peer)
		}
	}
	return false
}

// forwardedTLS reports whether a trusted proxy, and it alone, says that its client speaks TLS.
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

// find returns the value of a cookie. Two of one name are none that this server set: ok is then false.
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

// SessionCookie returns the Set-Cookie line that gives ctx's browser a session until it expires. It is empty where the
// connection may hold no cookies.
func SessionCookie(ctx context.Context, secret string, expires time.Time) string {
	j := requestOf(ctx).jar
	if !j.usable {
		return ""
	}
	c := j.make(sessionCookie, secret)
	c.Expires = expires
	return c.String()
}

// DropSession returns the Set-Cookie line that takes the session cookie which came with ctx's request away, empty where
// none came: no session outlives the sign-in or the sign-out that follows it.
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
// negative age takes it away. It is empty where the connection may hold no cookies.
func ShortCookie(ctx context.Context, name, value string, seconds int) string {
	j := requestOf(ctx).jar
	if !j.usable {
		return ""
	}
	c := j.make(name, value)
	c.MaxAge = seconds
	return c.String()
}

// MayCrossSites reports whether ctx's browser can bring a cookie along with a form that another site makes it post.
// That takes SameSite=None, which browsers accept over TLS alone.
func MayCrossSites(ctx context.Context) bool { return requestOf(ctx).jar.secure }

// CrossSiteCookie is ShortCookie for a cookie that comes along with what other sites make the browser send: for values
// that tell which browser it is and give nothing. It is empty where MayCrossSites does not hold.
func CrossSiteCookie(ctx context.Context, name, value string, seconds int) string {
	j := requestOf(ctx).jar
	if !j.secure {
		return ""
	}
	c := j.make(name, value)
	c.SameSite, c.MaxAge = http.SameSiteNoneMode, seconds
	return c.String()
}

// CookieValue returns what ShortCookie or CrossSiteCookie has set, empty where there is none, where it is there
// twice, or where the connection may hold no cookies.
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
		return nil, errors.New("httpapi: the public address is no origin")
	}
	return o, nil
}

// check holds a request with a cookie to its own origin unless it only reads. Every browser of today sends
// Sec-Fetch-Site or Origin with a write; a write with neither is no page's of this server and is refused as well. An
// Origin alone does not say that it is the same scheme, which matters where cookies are kept to TLS.
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

// presented returns the token of a request: of the Authorization header where there is one, else of the session
// cookie. An open install looks at no cookies, and takes whatever else a header holds for no token.
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
// operations that look at it themselves. BadToken where the header holds none, CrossOrigin as for any write.
func Presented(ctx context.Context) (string, error) {
	if p := requestOf(ctx).presented; p != nil {
		return p()
	}
	return "", nil
}

// Caller returns who presents ctx's request, as operations that are not public know it: for public ones that tell it.
func (r *Router) Caller(ctx context.Context) (identity.Principal, error) {
	token, err := Presented(ctx)
	if err != nil {
		return identity.Principal{}, err
	}
	return r.authn.Authenticate(ctx, token)
}
