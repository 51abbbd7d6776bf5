package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/secret"
)

// Config of the surface.
type Config struct {
	// PublicURL is the address that users open; empty if it is unknown. HSTS depends on its scheme.
	PublicURL string
	// TrustedProxies are the only peers whose X-Forwarded-For is used.
	TrustedProxies []netip.Prefix
	// Open marks an install that needs no tokens: it answers only loopback host names and refuses writes from pages of
	// other origins.
	Open bool
	// Version is the product's, shown in the API document.
	Version string
	// MetricsAuth requires a viewer's bearer token for /metrics.
	MetricsAuth bool
	// InsecureCookies allows the session cookie over plain http beyond loopback.
	InsecureCookies bool
	// ReadOnly refuses every change except signing in, signing out and the reports of workers.
	ReadOnly bool
	// WorkerToken is the token that all workers of the relay may share. Without it and without tokens that are made for
	// workers the relay is disabled.
	WorkerToken secret.Text
	// StreamsPerAccount caps the live streams that one account holds at once; 0 means 64.
	StreamsPerAccount int
	// WriteTimeout bounds one write of a streamed answer to a slow reader; 0 means 15 seconds.
	WriteTimeout time.Duration
}

// DefaultStreams is how many live streams an account may hold unless configured otherwise.
const DefaultStreams = 64

// Validate returns an error that names the first invalid member.
func (c Config) Validate() error {
	if c.StreamsPerAccount < 0 || c.WriteTimeout < 0 {
		return errors.New("httpapi: the cap on streams or the time for a write is negative")
	}
	if token := c.WorkerToken.Reveal(); token != strings.TrimSpace(token) {
		return errors.New("httpapi: the worker token has white space at an end, which no request can present")
	}
	if c.PublicURL != "" && !strings.HasPrefix(c.PublicURL, "http://") && !strings.HasPrefix(c.PublicURL, "https://") {
		return errors.New("httpapi: the public address is neither http nor https")
	}
	return nil
}

// Routes are the operations of one context.
type Routes struct {
	// Name orders the registration, which would else differ from start to start.
	Name     string
	Register func(*Router)
}

// Result of New.
type Result struct {
	Handler http.Handler
	// Router holds the registered operations; its Close ends every live stream.
	Router *Router
}

// New builds the handler. It returns an error if a route's declaration is incomplete or a duplicate.
func New(p Params) (Result, error) {
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	if p.Observer == nil {
		p.Observer = discard{}
	}
	from, err := newOrigins(p.Config.PublicURL)
	if err != nil {
		return Result{}, err
	}
	installProblems()
	mux := http.NewServeMux()
	p.Config.StreamsPerAccount = cmp.Or(p.Config.StreamsPerAccount, DefaultStreams)
	p.Config.WriteTimeout = cmp.Or(p.Config.WriteTimeout, writeTime)
	r := newRouter(mux, p, newStreams(p.Config.StreamsPerAccount), from)
	for _, routes := range sorted(p.Routes) {
		routes.Register(r)
	}
	if err := errors.Join(r.faults...); err != nil {
		return Result{}, err
	}
	r.dispatch = &dispatcher{mux: mux}
	var h http.Handler = r.dispatch
	if p.Config.Open {
		h = loopbackOnly(h)
	}
	h = securityHeaders(h, strings.HasPrefix(p.Config.PublicURL, "https://"))
	h = &requestMiddleware{next: h, log: p.Log, ids: p.IDs, observer: p.Observer, config: p.Config}
	return Result{Handler: h, Router: r}, nil
}
