package egress

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// These are the defaults of Options.
const (
	DefaultTimeout   = 30 * time.Second
	DefaultMaxAnswer = 10 << 20
	// MaxRedirects is how many redirects are followed.
	MaxRedirects = 5
)

// Options of a client. The zero value is valid.
type Options struct {
	Timeout   time.Duration // of a whole exchange, including redirects and body; DefaultTimeout
	MaxAnswer int64         // bytes of a body, after decompression; DefaultMaxAnswer
	TLS       *tls.Config   // own authorities and certificates; nil is the trust of the machine
	Resolver  *net.Resolver // nil is the machine's own
}

// Client returns a client for untrusted addresses. It supports only http and https, dials what the policy allows, and
// follows at most MaxRedirects redirects under the same rules, never from https to http. It sends no credentials and no
// body to another origin, stores no cookies, uses no proxy, and ends a body that is too large with ErrTooLarge.
// CloseIdleConnections closes its idle connections.
func Client(p Policy, o Options) *http.Client {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = DefaultMaxAnswer
	}
	t := &http.Transport{
		Proxy:                  nil,
		DialContext:            NewDialer(p, o.Resolver).DialContext,
		TLSClientConfig:        o.TLS.Clone(),
		TLSHandshakeTimeout:    connectTimeout,
		ResponseHeaderTimeout:  o.Timeout,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    2,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}
	return &http.Client{Transport: Capped(&checked{t}, o.MaxAnswer), CheckRedirect: checkRedirect, Timeout: o.Timeout}
}

// checked checks the address of each request, including those of redirects.
type checked struct{ *http.Transport }

func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := CheckURL(req.URL); err != nil {
		if req.Body != nil {
			err = errors.Join(err, req.Body.Close())
		}
		return nil, err
	}
	return c.Transport.RoundTrip(req)
}

// CheckURL refuses addresses that are neither http nor https, and hosts that are numbers but not IP addresses. It
// resolves no name; the dialer checks the address of a name.
func CheckURL(u *url.URL) error {
	if u == nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" {
		return fmt.Errorf("%w: only http and https addresses", ErrRefused)
	}
	return checkHost(u.Hostname())
}

// checkRedirect checks a redirect before it is followed.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > MaxRedirects {
		return fmt.Errorf("%w: more than %d redirects", ErrRefused, MaxRedirects)
	}
	if err := CheckURL(req.URL); err != nil {
		return err
	}
	if req.URL.User != nil {
		return fmt.Errorf("%w: a redirect to an address with credentials", ErrRefused)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("%w: a redirect from https to http", ErrRefused)
	}
	req.Header.Del("Referer")
	home := origin(via[0].URL)
	if !slices.ContainsFunc(append(via[1:len(via):len(via)], req), func(r *http.Request) bool {
		return origin(r.URL) != home
	}) {
		return nil
	}
	if req.Body != nil && req.Body != http.NoBody {
		return fmt.Errorf("%w: a redirect that sends the body to another origin", ErrRefused)
	}
	for name := range req.Header {
		if !slices.Contains([]string{"Accept", "Accept-Language", "User-Agent"}, name) {
			req.Header.Del(name)
		}
	}
	return nil
}

// ErrElsewhere is a redirect to another server or with another request.
var ErrElsewhere = fmt.Errorf("%w: a redirect to somewhere else", ErrRefused)

// Stay makes a client of Client follow a redirect only if it repeats a POST to the same server; another one, such as a
// redirect that turns a POST into a GET, fails with ErrElsewhere.
func Stay(c *http.Client) {
	next := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.Method != http.MethodPost || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
			return ErrElsewhere
		}
		return next(req, via)
	}
}

// origin is the scheme, host and port of an address.
func origin(u *url.URL) string {
	port := cmp.Or(u.Port(), u.Scheme)
	if port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		port = u.Scheme
	}
	return u.Scheme + "://" + strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + port
}
